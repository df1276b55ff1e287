/** The storage in a file: whole after kill -9 at any point, one change at a time, and nobody else's to read. */

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { fileStorage } from "../src/file.js";
import { waitAlone } from "../src/lock.js";
import { Client } from "../src/node.js";
import { texts } from "./vectors.js";

const memory = fs.existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const folder = fs.mkdtempSync(join(memory, "deniable-"));
after(() => fs.rmSync(folder, { recursive: true }));

let made = 0;
/** A path in a folder of its own. */
function place() {
  const own = join(folder, String(made++));
  fs.mkdirSync(own);
  return join(own, "me.json");
}

const SURVEY = texts["oue, again"];
const FILING = fileURLToPath(new URL("filing.js", import.meta.url));
const device = (path) => new Client(SURVEY, { storage: fileStorage(path) });
const outbox = (path) =>
  Object.values(JSON.parse(fs.readFileSync(path, "utf8").slice(64)))
    .flatMap((entry) => Object.keys(entry.outbox ?? {}))
    .map((record) => record.slice(32));

test("a device in a file survives a restart, and only its owner can read it", () => {
  const path = place();
  const first = device(path);
  first.queue(7);
  const again = device(path);
  assert.deepEqual(again.status(), first.status());
  assert.equal(again.status().waiting, 1);
  assert.equal(String(again), `<Client of survey ${again.survey.digest.slice(0, 8)}, memoised, in its storage>`);
  assert.equal(fs.statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(fs.readdirSync(join(path, "..")).sort(), ["me.json", "me.json.lock"]);
  for (const mode of [0o644, 0o640, 0o604, 0o620, 0o602, 0o610, 0o601]) {
    fs.chmodSync(path, mode);
    assert.throws(() => again.status(), {
      name: "StateError",
      message: `client state ${path} must be readable by its owner only; run chmod 600 on it`,
    });
  }
});

test("a state that is gone was lost, and is no fresh start", () => {
  const path = place();
  device(path).queue(7);
  fs.rmSync(path);
  const sentence = {
    name: "StateError",
    message:
      `client state ${path} is gone, but me.json.lock says that this device had one; restore it, or delete ` +
      "me.json.lock too and accept that reports add up",
  };
  assert.throws(() => device(path), sentence);
  fs.rmSync(`${path}.lock`, { recursive: true });
  assert.equal(device(path).status().waiting, 0);
});

test("a damaged file stops the client, and a folder that is not there has a sentence", () => {
  const path = place();
  device(path);
  fs.appendFileSync(path, " ");
  assert.throws(() => device(path), { name: "StateError", message: /^client state must be whole and its own/ });
  const nowhere = join(path, "..", "nowhere", "me.json");
  assert.throws(() => device(nowhere), {
    name: "StateError",
    message: `client state ${nowhere} cannot be read or written: ENOENT; what it held is kept, try again`,
  });
  const inside = join(path, "me.json");
  assert.throws(() => device(inside), {
    name: "StateError",
    message: `client state ${inside} cannot be read or written: ENOTDIR; what it held is kept, try again`,
  });
});

test("the state of a Python client is told from one of ours", () => {
  const path = place();
  fs.writeFileSync(path, "{}", { mode: 0o600 });
  fs.writeFileSync(`${path}.lock`, "A device's state was created beside this file.", { mode: 0o600 });
  assert.throws(() => device(path), {
    name: "StateError",
    message:
      `client state ${path} must be one that fileStorage made, got a file me.json.lock beside it, as Python's ` +
      "client makes one; use another name",
  });
  assert.equal(fs.readFileSync(path, "utf8"), "{}");
});

/**
 * Run with every call of the file system followed by a look at the modes of all files in the folder, and a umask that
 * allows all.
 */
function modesOf(path, work) {
  const seen = new Set();
  const real = { ...fs };
  const umask = process.umask(0);
  const names = Object.keys(fs).filter((one) => /Sync$/.test(one));
  for (const name of names)
    fs[name] = (...given) => {
      const result = real[name](...given);
      for (const own of [join(path, ".."), `${path}.lock`])
        if (real.existsSync(own))
          for (const entry of real.readdirSync(own))
            seen.add(
              `${entry.replace(/^\d+-.*/, "lock")} ${(real.lstatSync(join(own, entry)).mode & 0o777).toString(8)}`,
            );
      return result;
    };
  syncBuiltinESMExports();
  try {
    work();
  } finally {
    for (const name of names) fs[name] = real[name];
    syncBuiltinESMExports();
    process.umask(umask);
  }
  return [...seen].sort();
}

test("no file is open to others, not for a moment", () => {
  const path = place();
  const expected = [".me.json.new 600", "lock 600", "made 600", "me.json 600", "me.json.lock 700"];
  assert.deepEqual(
    modesOf(path, () => device(path).queue(7)),
    expected,
  );
  // Mutant: a file that is made for all and closed to others afterwards.
  const other = place();
  const open = fs.openSync;
  fs.openSync = (name, flags, mode) => {
    const made = open(name, flags, mode && 0o644);
    fs.fstatSync(made); // a moment
    if (mode) fs.fchmodSync(made, mode);
    return made;
  };
  try {
    assert.ok(modesOf(other, () => device(other).queue(7)).includes(".me.json.new 644"));
  } finally {
    fs.openSync = open;
    syncBuiltinESMExports();
  }
});

test("what was replaced is wiped, and what a crash left behind too; a backup is not", () => {
  const path = place();
  const one = device(path);
  one.queue(7);
  const [record] = outbox(path);
  const left = join(path, "..", ".me.json.new");
  fs.copyFileSync(path, left);
  const old = [path, left].map((name) => fs.openSync(name, "r"));
  one.queue(7);
  for (const handle of old) {
    const bytes = Buffer.alloc(10_000);
    const size = fs.readSync(handle, bytes, 0, bytes.length, 0);
    assert.ok(size > record.length);
    assert.deepEqual(bytes.subarray(0, size), Buffer.alloc(size));
    fs.closeSync(handle);
  }
  fs.linkSync(path, join(path, "..", "backup.json"));
  const kept = fs.readFileSync(path, "utf8");
  one.queue(7);
  assert.equal(fs.readFileSync(join(path, "..", "backup.json"), "utf8"), kept);
});

test("the new file is durable before it has the name, the name before the old file is wiped, and then that", () => {
  const path = place();
  const one = device(path);
  const calls = [];
  const real = { ...fs };
  const kindOf = (handle) => (real.fstatSync(handle).isDirectory() ? "folder" : "file");
  // The lock has its own calls of other kinds.
  const noting =
    (work, kind) =>
    (...given) => {
      calls.push(kind(...given));
      return work(...given);
    };
  fs.fsyncSync = noting(real.fsyncSync, (handle) => `fsync ${kindOf(handle)}`);
  fs.renameSync = noting(real.renameSync, () => "rename");
  fs.writeSync = noting(real.writeSync, () => "zeros");
  try {
    one.queue(7);
  } finally {
    for (const name of ["fsyncSync", "renameSync", "writeSync"]) fs[name] = real[name];
  }
  assert.deepEqual(calls, ["fsync file", "rename", "fsync folder", "zeros", "fsync file"]);
});

test("a link stays a link", () => {
  const path = place();
  device(path);
  const link = join(path, "..", "link.json");
  fs.symlinkSync(path, link);
  device(link).queue(7);
  assert.ok(fs.lstatSync(link).isSymbolicLink());
  assert.equal(device(path).status().waiting, 1);
});

test("a file that somebody puts in the way is not written", () => {
  const path = place();
  const one = device(path);
  const folder = join(path, "..");
  const theirs = join(folder, "theirs");
  fs.writeFileSync(theirs, "");
  const real = fs.rmSync;
  for (const plant of [fs.symlinkSync, fs.linkSync]) {
    // After what a crash left was removed, and before the new file is made.
    fs.rmSync = (name, options) => {
      real(name, options);
      if (!name.endsWith(".new")) return;
      fs.rmSync = real;
      plant(theirs, name);
    };
    try {
      assert.throws(() => one.queue(7), { name: "StateError" });
    } finally {
      fs.rmSync = real;
    }
    assert.equal(fs.readFileSync(theirs, "utf8"), "");
  }
  one.queue(7);
  assert.equal(one.status().waiting, 1);
});

test("killed at every point of the file system's, what was queued is there, and the next process goes on", () => {
  const whole = spawnSync(process.execPath, [FILING, place(), "1"], { encoding: "utf8" });
  const points = Number(/points (\d+)/.exec(whole.stdout)[1]);
  assert.ok(points > 30, whole.stdout + whole.stderr);
  const seen = new Set();
  for (let point = 1; point <= points; point++) {
    const path = place();
    const { signal, stdout, stderr } = spawnSync(process.execPath, [FILING, path, "1", String(point)], {
      encoding: "utf8",
    });
    assert.equal(signal, "SIGKILL", stderr);
    const queued = stdout.split("\n").filter((line) => /^[0-9a-f]+$/.test(line));
    const found = fs.existsSync(path) ? outbox(path) : [];
    assert.ok(
      queued.every((report) => found.includes(report)),
      `a report is lost at ${point}`,
    );
    assert.ok(found.length <= queued.length + 1);
    const next = device(path);
    next.queue(7);
    assert.equal(next.status().waiting, found.length + 1, "and none is lost by going on");
    assert.deepEqual(fs.readdirSync(`${path}.lock`), ["made"]);
    seen.add(`${queued.length} ${found.length}`);
  }
  assert.deepEqual([...seen].sort(), ["0 0", "0 1"], "before and after the change");
});

test("processes that change one file at a time lose nothing", async () => {
  const path = place();
  const each = 25;
  const told = await Promise.all(
    [1, 2, 3].map(() => promisify(execFile)(process.execPath, [FILING, path, String(each)])),
  );
  const queued = told.flatMap(({ stdout }) => stdout.split("\n").filter((line) => /^[0-9a-f]+$/.test(line)));
  assert.equal(queued.length, 3 * each);
  assert.deepEqual(outbox(path).sort(), queued.sort());
  assert.equal(device(path).status().waiting, 3 * each);
});

test("without the lock they would", async () => {
  // Mutant: the same two changes, interleaved as two processes may be.
  const path = place();
  const [one, two] = [device(path), device(path)];
  const storage = fileStorage(path);
  const before = storage.getItem();
  one.queue(7);
  storage.setItem("", before);
  two.queue(7);
  assert.equal(one.status().waiting, 1);
});

test("who is in the way is named, and who is gone is not in the way", { timeout: 120_000 }, () => {
  const path = place();
  device(path);
  const lock = `${path}.lock`;
  const start = /.*\) \S (?:\S+ ){18}(\d+)/s.exec(fs.readFileSync("/proc/1/stat", "latin1"))[1];
  // A process that is there; one with its number that was started at another time; one that is not there at all.
  for (const name of ["1-0-0", "4194300-7-0"]) {
    fs.writeFileSync(join(lock, name), "");
    device(path).queue(7);
    assert.deepEqual(fs.readdirSync(lock), ["made"]);
  }
  fs.writeFileSync(join(lock, `1-${start}-0`), "");
  const real = performance.now;
  let now = 0;
  performance.now = () => (now += 4000);
  try {
    assert.throws(() => device(path), {
      name: "StateError",
      message:
        `client state ${path} is in use by process 1; ` + `wait until it is done, or delete me.json.lock/1-${start}-0`,
    });
  } finally {
    performance.now = real;
  }
  fs.rmSync(join(lock, `1-${start}-0`));
  waitAlone(lock, path)();
  assert.equal(device(path).status().waiting, 2);
});
