/**
 * A storage for Node: a device's state in one file, readable by its owner alone. It is replaced as a whole (temporary
 * file, fsync, rename, fsync of the folder), so it is never half written, and under a lock, so that processes and
 * threads of one machine do not lose each other's changes. The file that it replaces is overwritten with zeros.
 *
 * The folder `<name>.lock` stays. Whoever changes the state has a file in it meanwhile. The file `made` in it says that
 * there was a state: one that is gone beside it was lost, and a device that started afresh would give old answers new
 * noise.
 */

import fs from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

import { argument } from "./arguments.js";
import { need } from "./errors.js";
import { waitAlone } from "./lock.js";

const { O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_WRONLY } = fs.constants;
const POSIX = process.platform !== "win32";

/** A storage in the file at `path`: `new Client(survey, { storage: fileStorage("me.json") })`. */
export function fileStorage(path) {
  argument(typeof path === "string" && path, "path", "be the name of a file", path);
  const file = realPath(resolve(path));
  const folder = `${file}.lock`;
  const mark = join(folder, "made");
  let alone = false;

  const getItem = () =>
    inWords(file, () => {
      const there = fs.existsSync(file);
      need(
        there || !fs.existsSync(mark),
        `client state ${file} is gone, but ${basename(folder)} says that this device had one; restore it, or delete ` +
          `${basename(folder)} too and accept that reports add up`,
        "State",
      );
      need(
        !there || !POSIX || !(fs.statSync(file).mode & 0o077),
        `client state ${file} must be readable by its owner only; run chmod 600 on it`,
        "State",
      );
      return there ? readWhole(file) : null;
    });

  /** Run `work` while no other process or thread does. */
  const locked = (work) => {
    if (alone) return work();
    const leave = inWords(file, () => waitAlone(folder, file));
    alone = true;
    try {
      return work();
    } finally {
      alone = false;
      leave();
    }
  };

  const setItem = (_, text) =>
    locked(() =>
      inWords(file, () => {
        // Under the lock one name is enough. What a crash left under it is removed: a file is made here, with its mode,
        // or not at all.
        const temporary = join(dirname(file), `.${basename(file)}.new`);
        wipe(open(temporary), () => fs.rmSync(temporary, { force: true }));
        write(temporary, text);
        wipe(open(file), () => {
          fs.renameSync(temporary, file);
          sync(dirname(file));
        });
        if (!fs.existsSync(mark)) {
          write(mark, "The state beside this folder was made. If it is gone it was lost: restore it.\n");
          sync(folder);
        }
      }),
    );

  return { getItem, setItem, locked };
}

/** What is in the file, which may be replaced, and the old one wiped, while it is read without the lock. */
function readWhole(file) {
  for (;;) {
    const handle = fs.openSync(file, "r");
    try {
      const text = fs.readFileSync(handle, "utf8");
      if (fs.fstatSync(handle).ino === fs.statSync(file).ino) return text;
    } finally {
      fs.closeSync(handle);
    }
  }
}

/** A link is followed once: replacing the file must not replace a link to it. */
function realPath(path) {
  try {
    return fs.realpathSync(path);
  } catch {
    return path;
  }
}

function write(path, text) {
  const made = fs.openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    fs.writeFileSync(made, text);
    fs.fsyncSync(made);
  } finally {
    fs.closeSync(made);
  }
}

/** An old file, or nothing where there is none, or where an open file would keep its name. */
function open(path) {
  try {
    return POSIX ? fs.openSync(path, O_WRONLY | O_NOFOLLOW) : null;
  } catch {
    return null;
  }
}

/**
 * Run `work`, which takes the name from an old file, and overwrite that with zeros: a report that was delivered must
 * not stay.
 */
function wipe(old, work) {
  try {
    work();
    if (old == null) return;
    const { nlink, size } = fs.fstatSync(old);
    // One that still has a name is somebody's backup.
    if (nlink) return;
    fs.writeSync(old, new Uint8Array(size), 0, size, 0);
    fs.fsyncSync(old);
  } finally {
    if (old != null) fs.closeSync(old);
  }
}

function sync(folder) {
  if (!POSIX) return;
  const open = fs.openSync(folder, "r");
  try {
    fs.fsyncSync(open);
  } finally {
    fs.closeSync(open);
  }
}

/** What the system says, in a sentence; errors of our own go through as they are. */
function inWords(file, work) {
  try {
    return work();
  } catch (problem) {
    need(
      problem.code !== "ENOTDIR" || !fs.existsSync(`${file}.lock`),
      `client state ${file} must be one that fileStorage made, got a file ${basename(file)}.lock beside it, as ` +
        "Python's client makes one; use another name",
      "State",
    );
    need(
      !problem.syscall,
      `client state ${file} cannot be read or written: ${problem.code}; what it held is kept, try again`,
      "State",
    );
    throw problem;
  }
}
