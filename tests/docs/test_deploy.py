"""deploy/ says what is true: options that the program takes, metrics that there are, lines that nginx takes."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import deniable as dn
from deniable.cli import build_parser
from deniable.service.metrics import _HELP
from tests.docs.blocks import ROOT, blocks
from tests.docs.test_proxy import MISSING, certificate

DEPLOY = ROOT / "deploy"


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return found


def served(words: list[str]) -> Any:
    """The arguments of `deniable serve`, as the program reads them; others would end the test."""
    args = build_parser().parse_args(words)
    assert args.chosen == "serve"
    return args


def test_the_services_are_there_and_what_they_share_is_declared() -> None:
    found = compose()
    services = found["services"]
    assert set(services) == {"collector", "postgres", "nginx", "prometheus", "grafana"}
    for service in services.values():
        assert set(service.get("secrets", ())) <= set(found["secrets"])
        assert set(service["networks"]) <= set(found["networks"])
        assert set(service.get("depends_on", ())) <= set(services)
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            known = source in found["volumes"] or source == "./tls" or (DEPLOY / source).exists()
            assert known, source
    assert "ports" not in services["collector"], "only the proxy is reached from outside"
    assert services["nginx"]["logging"] == {"driver": "none"}


def test_the_collector_is_started_with_options_that_it_has() -> None:
    args = served(compose()["services"]["collector"]["command"])
    assert args.store.startswith("postgres://")
    assert args.admin_token_file == "/run/secrets/admin"


def test_the_container_starts_the_collector_that_it_installs() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    served(json.loads(re.search(r"^CMD (\[.*\])$", text, re.MULTILINE)[1]))  # type: ignore[index]
    assert '[serve,postgres]"' in text
    assert "USER deniable" in text


def test_the_unit_starts_the_collector(tmp_path: Path) -> None:
    text = (DEPLOY / "deniable.service").read_text()
    command = shlex.split(re.search(r"^ExecStart=(.*)$", text, re.MULTILINE)[1])  # type: ignore[index]
    assert command[0] == "/opt/deniable/bin/deniable"
    served(command[1:])
    if (verify := shutil.which("systemd-analyze")) is None:
        return
    unit = tmp_path / "deniable.service"
    unit.write_text(text.replace(command[0], "/bin/true"))  # it looks whether the program is there
    done = subprocess.run([verify, "verify", str(unit)], capture_output=True, text=True)
    assert "deniable.service" not in done.stderr, done.stderr


def test_the_dashboard_asks_for_metrics_and_labels_that_there_are() -> None:
    panels = json.loads((DEPLOY / "grafana-dashboard.json").read_text())["panels"]
    asked = " ".join(target["expr"] for panel in panels for target in panel["targets"])
    assert set(re.findall(r"deniable_\w+", asked)) == set(_HELP)
    labels = {label for group in re.findall(r"by \((.*?)\)", asked) for label in group.split(", ")}
    labels |= set(re.findall(r"[{,](\w+)[!=]", asked))
    assert labels <= {"survey", "name", "outcome", "route", "status"}


def test_the_page_lists_every_metric() -> None:
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text()
    assert set(re.findall(r"^\| `(deniable_\w+)`", page, re.MULTILINE)) == set(_HELP)


def test_prometheus_scrapes_the_collector_with_its_secret() -> None:
    (job,) = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())["scrape_configs"]
    assert job["static_configs"] == [{"targets": ["collector:8765"]}]
    assert job["authorization"]["credentials_file"] == "/run/secrets/scrape"
    assert "scrape" in compose()["services"]["prometheus"]["secrets"]


def test_the_proxy_has_the_lines_of_the_page_and_nginx_takes_them(tmp_path: Path) -> None:
    (page,) = [b.code for b in blocks(ROOT / "docs" / "how-to" / "operations.md") if b.language == "nginx"]
    text = (DEPLOY / "nginx.conf").read_text()
    inside = "\n".join(line.strip() for line in text[text.index("http {") + 6 : text.rindex("}")].splitlines())
    for ours, theirs in (
        ("/etc/ssl/deniable/fullchain.pem", "/etc/ssl/reports.example.org.pem"),
        ("/etc/ssl/deniable/privkey.pem", "/etc/ssl/reports.example.org.key"),
        ("http://collector:8765", "http://127.0.0.1:8765"),
    ):
        inside = inside.replace(ours, theirs)
    assert inside.split() == page.split()
    program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    assert program is not None, MISSING
    certificate(tmp_path)
    text = text.replace("/etc/ssl/deniable/fullchain.pem", str(tmp_path / "cert.pem"))
    text = text.replace("/etc/ssl/deniable/privkey.pem", str(tmp_path / "cert.key")).replace("collector:", "127.0.0.1:")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{kind}_temp_path {tmp_path}/{kind};\n" for kind in kinds)
    text = text.replace("http {\n", "http {\n" + places).replace("/tmp/nginx.pid", str(tmp_path / "pid"))
    (tmp_path / "nginx.conf").write_text(text)
    command = [
        program,
        "-t",
        "-q",
        "-c",
        str(tmp_path / "nginx.conf"),
        "-p",
        str(tmp_path),
        "-e",
        str(tmp_path / "log"),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_npm_package_works_in_a_fresh_project(tmp_path: Path) -> None:
    """`npm pack`, then the tarball in a project of its own, without a network: it is imported and makes a report."""
    client = ROOT / "clients" / "js"
    packed = subprocess.run(
        ["npm", "pack", "--json", "--pack-destination", str(tmp_path)], cwd=client, capture_output=True, text=True
    )
    assert packed.returncode == 0, packed.stderr
    (told,) = json.loads(packed.stdout)
    names = {file["path"] for file in told["files"]}
    assert {"package.json", "README.md", "index.d.ts", "deniable.min.js", "src/node.js", "LICENSE"} <= names
    assert not [name for name in names if name.startswith(("test/", "node_modules/")) or name == "build.js"]
    project = tmp_path / "project"
    project.mkdir()
    (project / "package.json").write_text('{"name": "fresh", "private": true, "type": "module"}')
    install = ["npm", "install", "--offline", "--no-audit", "--no-fund", str(tmp_path / told["filename"])]
    done = subprocess.run(install, cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (project / "app.js").write_text("""
import { Client, readSurvey } from "deniable-client";
import { Client as Min } from "deniable-client/min";
import { fileStorage } from "deniable-client/file";
import { unpack } from "deniable-client/unpack";
import { readFileSync } from "node:fs";
const survey = readFileSync("survey.json", "utf8");
const report = new Client(survey, { storage: fileStorage("me.json") }).report("yes");
const again = unpack(readSurvey(survey), report.pack());
console.log(report.pack().length, again.cohort, new Min(survey).report("no").pack().length);
""")
    dn.warner(epsilon=1).save(project / "survey.json")
    done = subprocess.run(["node", "app.js"], cwd=project, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("10 0 10\n", "")
