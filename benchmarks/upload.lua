-- Load for the collector: every request holds BENCH_PER reports, each under a fresh random id, or under one for all.
local path = os.getenv("BENCH_PATH")
local per = tonumber(os.getenv("BENCH_PER"))
local whole = os.getenv("BENCH_BATCH") == "yes"
local report = os.getenv("BENCH_REPORT"):gsub("..", function(digits) return string.char(tonumber(digits, 16)) end)
local headers = {["Content-Type"] = "application/octet-stream"}
local random = io.open("/dev/urandom", "rb")
local packed = report:rep(per)

local function hex(bytes)
  return (bytes:gsub(".", function(byte) return string.format("%02x", byte:byte()) end))
end

request = function()
  if whole then
    return wrk.format("POST", path .. "?batch=" .. hex(random:read(16)), headers, packed)
  end
  local ids, parts = random:read(16 * per), {}
  for i = 1, per do
    parts[2 * i - 1] = ids:sub(16 * i - 15, 16 * i)
    parts[2 * i] = report
  end
  return wrk.format("POST", path, headers, table.concat(parts))
end

local refused = 0
response = function(status) if status ~= 200 then refused = refused + 1 end end

done = function(summary, latency)
  local bad = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout
  io.write(string.format("\nRESULT %d %d %f %d\n", summary.requests, summary.duration, latency:percentile(99), bad))
end
