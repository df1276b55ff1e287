"""The style sheet of the page: dark on white, one column, and nothing that is fetched."""

STYLE = """
:root { --ink: #1c1c1c; --quiet: #5f5f5f; --line: #dedede; --link: #0b5394;
  --good: #e3f3e8; --good-ink: #0f5a2a; --part: #fdf0d5; --part-ink: #7a4b00;
  --bad: #fbe3df; --bad-ink: #8f1d10; --none: #ededed; --none-ink: #4d4d4d; }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 2.5rem 1.25rem 5rem; max-width: 1240px; background: #fff; color: var(--ink);
  font: 16px/1.55 -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial, sans-serif; }
header p, section > p, details p, main > p { max-width: 78ch; }
a { color: var(--link); text-decoration-thickness: 1px; text-underline-offset: 2px; }
.kicker { margin: 0; color: var(--quiet); font-size: .9rem; letter-spacing: .02em; }
h1 { margin: .2rem 0 0; font-size: clamp(1.6rem, 4.5vw, 2.35rem); line-height: 1.15; letter-spacing: -.015em; }
.byline { margin: .4rem 0 1.4rem; color: var(--quiet); }
h2 { margin: 3rem 0 1rem; padding-top: .6rem; border-top: 2px solid var(--ink); font-size: 1.4rem; }
h3 { margin: 0 0 .6rem; font-size: 1.12rem; line-height: 1.3; }
section { margin: 0 0 3.2rem; scroll-margin-top: 1rem; }
.label { color: var(--quiet); font: .8rem ui-monospace, Menlo, Consolas, "Liberation Mono", monospace;
  margin-left: .4em; overflow-wrap: anywhere; }
.counts { color: var(--quiet); }
.badges { display: flex; flex-wrap: wrap; gap: .5rem; }
.badge { display: inline-block; padding: .12em .7em; border-radius: 1em; font-size: .88rem; font-weight: 600;
  white-space: nowrap; }
.badges .badge { font-size: 1rem; padding: .25em .9em; }
.badge.holds { background: var(--good); color: var(--good-ink); }
.badge.except { background: var(--part); color: var(--part-ink); }
.badge.fails { background: var(--bad); color: var(--bad-ink); }
.badge.unmeasured { background: var(--none); color: var(--none-ink); }
nav h2 { border: 0; margin: 1.5rem 0 .3rem; padding: 0; font-size: 1rem; }
nav ol { margin: 0; padding-left: 1.6rem; columns: 22rem 3; column-gap: 2rem; font-size: .93rem; }
nav li { break-inside: avoid; padding: .1rem 0; }
.picture { overflow-x: auto; margin: 0 0 .6rem; }
.picture svg, .picture img { display: block; width: 100%; height: auto; }
.picture svg text, .picture svg line { pointer-events: none; }
.files { font-size: .88rem; }
.files a { margin-right: .6em; }
details { margin: .2rem 0 .6rem; font-size: .93rem; }
summary { cursor: pointer; color: var(--quiet); }
table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: .55rem .8rem .55rem 0; border-bottom: 1px solid var(--line); }
.claims { width: 100%; font-size: .93rem; table-layout: fixed; }
.claims th:nth-child(1) { width: 8%; }
.claims th:nth-child(2) { width: 27%; }
.claims th:nth-child(3) { width: 10rem; }
.claims details { margin: 0; font-size: inherit; }
.claims summary { color: inherit; list-style: none; }
.claims summary::-webkit-details-marker { display: none; }
.more { color: var(--link); white-space: nowrap; }
details[open] .more { display: none; }
.claims th { font-size: .85rem; color: var(--quiet); font-weight: 600; border-bottom-color: var(--ink); }
.claims td { overflow-wrap: break-word; }
.claims tr:target { background: #fffbe0; }
.small th { font-weight: 600; padding-right: 1.6rem; }
.small th, .small td { padding-top: .3rem; padding-bottom: .3rem; font-size: .93rem; overflow-wrap: anywhere; }
@media (max-width: 760px) {
  body { padding: 1.4rem 1rem 3rem; }
  nav ol { columns: 1; }
  .claims thead { display: none; }
  .claims tr { display: block; padding: .9rem 0; border-bottom: 1px solid var(--line); }
  .claims td { display: block; border: 0; padding: .12rem 0; }
  .claims td:nth-child(2) { font-weight: 600; }
  .claims td:empty { display: none; }
  .claims td:nth-child(1)::before, .claims td:nth-child(4)::before, .claims td:nth-child(5)::before {
    content: attr(data-name) ": "; color: var(--quiet); }
}
@media print {
  body { max-width: none; padding: 0; font-size: 11pt; }
  nav, .files { display: none; }
  section, .claims tr { break-inside: avoid; }
  .picture { overflow: visible; }
  .picture svg, .picture img { min-width: 0 !important; }
  .badge { border: 1px solid currentColor; }
}
"""
