"""Everything that a page can keep in a browser, or tell other pages, read; and what can be worked out from it."""

import json
import re
from typing import Any

from playwright.sync_api import Page, Route

import deniable as dn

# Every store that a script can write, and the fields that a browser fills again when a page is restored.
_READ = """async () => {
  const listed = (store) => Object.fromEntries(Object.keys(store).sort().map((key) => [key, store.getItem(key)]));
  const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const databases = {};
  for (const { name } of await indexedDB.databases()) {
    const open = await done(indexedDB.open(name));
    databases[name] = {};
    for (const store of open.objectStoreNames) {
      const found = open.transaction(store).objectStore(store);
      const [keys, values] = await Promise.all([done(found.getAllKeys()), done(found.getAll())]);
      databases[name][store] = keys.map((key, i) => [String(key), values[i]]);
    }
    open.close();
  }
  const cached = {};
  for (const name of globalThis.caches ? await caches.keys() : []) {
    const cache = await caches.open(name);
    for (const request of await cache.keys())
      cached[`${name} ${request.url}`] = await (await cache.match(request)).text();
  }
  const files = [];
  if (navigator.storage?.getDirectory)
    for await (const [name, handle] of await navigator.storage.getDirectory())
      files.push([name, handle.getFile ? await (await handle.getFile()).text() : null]);
  return {
    local: listed(localStorage),
    session: listed(sessionStorage),
    databases,
    cached,
    files,
    history: [history.length, history.state],
    cookie: document.cookie,
    address: location.href,
    name: window.name,
    title: document.title,
    marks: performance.getEntries().filter((one) => /mark|measure/.test(one.entryType)).map((one) => one.name),
    used: globalThis.usedByThePage ?? [],
    locks: globalThis.locksOfThePage ?? [],
    workers: (await navigator.serviceWorker?.getRegistrations() ?? []).map(({ scope }) => scope),
  };
}"""


# Ways out of a page that are neither a request nor a store: each use is noted. The answer page has none of them.
_NOTED = """(() => {
  const used = (globalThis.usedByThePage = []);
  const noted = (owner, name) => {
    const real = owner?.[name];
    if (typeof real != "function") return;
    const noting = function (...given) {
      used.push(name);
      return new.target ? Reflect.construct(real, given) : Reflect.apply(real, this, given);
    };
    Object.defineProperty(owner, name, { configurable: true, writable: true, value: noting });
  };
  const locks = (globalThis.locksOfThePage = []);
  const request = navigator.locks?.request;
  if (request)
    navigator.locks.request = (name, ...rest) => locks.push(name) && request.call(navigator.locks, name, ...rest);
  for (const name of Object.keys(console)) noted(console, name);
  for (const name of ["BroadcastChannel", "MessageChannel", "Notification", "Worker", "SharedWorker"])
    noted(globalThis, name);
  for (const name of ["RTCPeerConnection", "WebSocket", "EventSource", "XMLHttpRequest", "postMessage", "open"])
    noted(globalThis, name);
  for (const name of ["pushState", "replaceState"]) noted(history, name);
  for (const name of ["sendBeacon", "share"]) noted(navigator, name);
  for (const name of ["write", "writeText"]) noted(navigator.clipboard, name);
  noted(document, "execCommand");
})()"""


def note_uses(page: Page) -> None:
    """Note from now on what the page calls that leads out of it; `read_stores` has it as `used`."""
    page.add_init_script(_NOTED)


def remembers(page: Page, text: str) -> bool:
    """Whether the text is in what the scripts of the page hold, or in what the page shows."""
    parts: list[str] = []
    session = page.context.new_cdp_session(page)
    session.on("HeapProfiler.addHeapSnapshotChunk", lambda event: parts.append(event["chunk"]))
    session.send("HeapProfiler.enable")
    session.send("HeapProfiler.collectGarbage")
    session.send("HeapProfiler.takeHeapSnapshot", {"reportProgress": False})
    session.detach()
    found = "".join(parts)
    assert "usedByThePage" in found, "the snapshot is that of a page which is watched"
    fields = page.locator("input, textarea, select").evaluate_all("(all) => all.map((one) => one.value)")
    return text in found or text in page.content() or text in fields


def changed(page: Page, pattern: str, mutant: tuple[str, str]) -> None:
    """Give the page another script in the place of the one that it asks for."""

    def change(route: Route) -> None:
        response = route.fetch()
        text = response.text()
        assert text.count(mutant[0]) == 1, "the page has changed; so must its mutant"
        unkept = response.headers | {"cache-control": "no-store"}  # the page that is loaded next is the real one
        route.fulfill(response=response, headers=unkept, body=text.replace(*mutant))

    page.route(pattern, change)


def read_stores(page: Page) -> dict[str, Any]:
    """All stores of the page's origin, and the cookies of its browser."""
    found: dict[str, Any] = page.evaluate(_READ)
    return found | {"cookies": page.context.cookies()}


def secrets_in(stores: Any, survey: dn.Survey) -> set[str]:
    """Whatever is as long as a device's secret: 32 bytes in hexadecimal, in any place of a longer text too."""
    text = json.dumps(stores).replace(survey.digest, "")
    runs = re.findall(r"[0-9a-f]{64,}", text)
    return {run[at : at + 64] for run in runs for at in range(len(run) - 63)}


def suspects(stores: Any, survey: dn.Survey, answers: list[str], sent: bytes) -> set[str]:
    """The answers that would have given what was sent, under anything in the stores that may be a secret."""
    found = set[str]()
    report = dn.Report.unpack(survey, sent)
    for secret in secrets_in(stores, survey):
        client = dn.Client(survey)
        client._secret, client._cohort = bytes.fromhex(secret), report.cohort
        found |= {answer for answer in answers if client._randomized(answer) == report}
    return found
