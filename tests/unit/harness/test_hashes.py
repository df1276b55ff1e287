"""The list of a release's packages: pip reads it, and it names no place that they came from."""

from tests.hashes import pinned


def test_packages_are_pinned_by_version_and_hash_without_addresses() -> None:
    def package(name: str, version: str, **more: object) -> dict[str, object]:
        where = {"url": f"https://registry.example/{name}", "archive_info": {"hashes": {"sha256": name * 2}}}
        return {"metadata": {"name": name, "version": version}, "download_info": where, **more}

    report = {"install": [package("Uvicorn", "1.2"), package("numpy", "2.0"), package("deniable", "0", is_direct=True)]}
    assert pinned(report) == [
        "numpy==2.0 --hash=sha256:numpynumpy",
        "uvicorn==1.2 --hash=sha256:UvicornUvicorn",
    ]
