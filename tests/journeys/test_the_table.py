"""KNOWN_FAILURES.md says the truth: every test it names is there, and every id has a row."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TABLE = (HERE / "KNOWN_FAILURES.md").read_text()
NAMED = sorted(set(re.findall(r"`([\w/.]+\.py)::(\w+)`", TABLE)))
IDS = [
    "001",
    "002",
    "003",
    "004",
    "005",
    "007",
    "008",
    "009",
    "013",
    "016",
    "018",
    "020",
    "021",
    "022",
    "023",
    "024",
    "025",
    "026",
    "029",
    "030",
    "032",
    "033",
    "035",
    "036",
    "037",
    "040",
    "041",
    "042",
    "044",
    "046",
    "047",
    "048",
    "049",
    "051",
    "053",
    "054",
    "056",
    "058",
    "059",
    "060",
    "061",
    "063",
    "064",
    "065",
    "068",
    "069",
    "071",
    "072",
    "073",
    "075",
    "076",
    "080",
    "081",
    "082",
    "083",
    "084",
    "085",
    "087",
    "088",
    "117",
    "118",
    "119",
    "120",
    "122",
    "123",
    "128",
    "129",
    "130",
    "133",
    "134",
    "135",
    "136",
    "139",
    "140",
    "141",
    "142",
    "144",
    "145",
    "146",
    "147",
    "150",
    "151",
    "152",
    "154",
    "155",
    "156",
    "157",
    "159",
    "160",
    "164",
    "165",
    "166",
    "167",
    "168",
    "169",
    "170",
    "172",
    "173",
]


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_the_table_names_is_there(file: str, name: str) -> None:
    path = HERE.parents[1] / file if "/" in file else HERE / file

    assert re.search(rf"def {name}", path.read_text()), f"{file} has no {name}"


def test_every_id_of_the_themes_has_one_row() -> None:
    assert re.findall(r"^\| B(\d{3}) \|", TABLE, re.MULTILINE) == IDS
