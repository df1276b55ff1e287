/**
 * A lock between processes and threads of one machine. Node has none that a kernel takes back from a process that was
 * killed, so who wants to be alone puts a file with its own name into a folder, and then looks whether anyone else's is
 * there: if so it takes its own away, and tries again a little later. Two cannot both have looked before the other
 * one's file was there, so at most one is alone. A file of a process that is gone is removed by whoever sees it: its
 * name holds when the process was started, where the system tells, so it cannot be that of a later one with the same
 * number.
 */

import { randomInt } from "node:crypto";
import fs from "node:fs";
import { basename, join } from "node:path";
import { threadId } from "node:worker_threads";

import { need } from "./errors.js";

const PATIENCE = 10_000;
const NAME = /^(\d+)-(\d*)-(\d+)$/;

/**
 * Clock ticks from the system's start to that of a process; "" where it does not tell, and for one that has ended and
 * is not buried.
 */
function startOf(pid) {
  try {
    return /.*\) [^ZX] (?:\S+ ){18}(\d+)/s.exec(fs.readFileSync(`/proc/${pid}/stat`, "latin1"))[1];
  } catch {
    return "";
  }
}

function isGone(pid, start) {
  try {
    process.kill(pid, 0);
  } catch (problem) {
    return problem.code === "ESRCH"; // not allowed to signal it: it is there
  }
  return startOf(pid) !== start;
}

const sleep = (milliseconds) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);

/** Wait until this thread is alone in `folder`; what it returns ends that. `file` is what the lock is for. */
export function waitAlone(folder, file) {
  try {
    fs.mkdirSync(folder, 0o700);
  } catch (problem) {
    if (problem.code !== "EEXIST") throw problem;
  }
  const ours = `${process.pid}-${startOf(process.pid)}-${threadId}`;
  const leave = () => fs.rmSync(join(folder, ours), { force: true });
  const end = performance.now() + PATIENCE;
  for (;;) {
    fs.closeSync(fs.openSync(join(folder, ours), "w", 0o600));
    const others = fs.readdirSync(folder).filter((name) => {
      const [, pid, start] = NAME.exec(name) ?? [];
      if (!pid || name === ours) return false;
      if (!isGone(Number(pid), start)) return true;
      fs.rmSync(join(folder, name), { force: true });
      return false;
    });
    if (!others.length) return leave;
    leave();
    need(
      performance.now() < end,
      `client state ${file} is in use by process ${parseInt(others[0], 10)}; wait until it is done, or delete ` +
        `${basename(folder)}/${others[0]}`,
      "State",
    );
    sleep(1 + randomInt(9));
  }
}
