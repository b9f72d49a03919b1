"""`pxsgmcmc data corrupt` from end to end, and what it says when it cannot."""

import subprocess
import sys

import numpy as np
import pytest

from pxsgmcmc.cli.corrupt import corrupt_set, write_corruption
from pxsgmcmc.data import load_corrupted
from pxsgmcmc.data._embedded import load_embedded
from pxsgmcmc.data.corruptions import CORRUPTIONS, SEVERITIES, corrupt
from pxsgmcmc.errors import UserError


def test_two_processes_write_what_one_call_makes(tmp_path, capsys):
    corrupt_set("digits", str(tmp_path / "new" / "digits-c"), limit=3, seed=4)
    assert "19 corruptions of 3 images from digits" in capsys.readouterr().out.replace("\n", " ")
    folder = tmp_path / "new" / "digits-c"
    assert [path.name for path in folder.parent.iterdir()] == ["digits-c"], "something left behind"
    names = {path.name for path in folder.iterdir()}
    assert names == {"labels.npy"} | {f"{name}.npy" for name in CORRUPTIONS}
    x, y = load_embedded("digits").splits["test"]
    assert y is not None
    assert (np.load(folder / "labels.npy") == np.tile(y[:3], 5)).all()
    for name in CORRUPTIONS:
        expected = [corrupt(x[:3], name, severity, seed=4) for severity in SEVERITIES]
        assert (np.load(folder / f"{name}.npy") == np.concatenate(expected)).all()
    read = load_corrupted("digits-c", corruption="fog", severity=5, root=folder.parent)
    assert (read.x == corrupt(x[:3], "fog", 5, seed=4)).all() and (read.y == y[:3]).all()


def test_the_severities_follow_each_other_in_the_file(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (2, 8, 8, 3), dtype=np.uint8)
    np.save(tmp_path / "source.npy", images)
    write_corruption(tmp_path / "source.npy", "contrast", 0)
    written = np.load(tmp_path / "contrast.npy")
    assert written.shape == (10, 8, 8, 3) and written.dtype == np.uint8
    spread = written.reshape(5, 2, 8, 8, 3).astype(float).std(axis=(1, 2, 3, 4))
    assert (np.diff(spread) < 0).all()


def test_a_folder_in_use_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("here")
    with pytest.raises(UserError, match="`out` must be a new or empty folder"):
        corrupt_set("digits", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "nothing"}, "No data set is called 'nothing'"),
        ({"name": "two-moons"}, "Only sets of images can be corrupted"),
        ({"name": "photos-skimage", "split": "train"}, "`split` must be one of test"),
        ({"name": "digits", "seed": -1}, "`seed`"),
        ({"name": "digits", "processes": 0}, "`processes`"),
        ({"name": "digits", "limit": 0}, "`limit`"),
    ],
)
def test_names_the_bad_argument_and_leaves_nothing(arguments, message, tmp_path):
    with pytest.raises(UserError, match=message):
        corrupt_set(out=str(tmp_path / "out"), **arguments)
    assert not list(tmp_path.iterdir())


def test_a_failure_on_the_way_leaves_nothing(tmp_path, monkeypatch):
    def fail(folder, *_):
        (folder / "fog.npy").write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("pxsgmcmc.cli.corrupt._write_images", fail)
    with pytest.raises(KeyboardInterrupt):
        corrupt_set("digits", str(tmp_path / "out"))
    assert not list(tmp_path.iterdir())


def test_a_file_in_the_way_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="`out` cannot be made at"):
        corrupt_set("digits", str(tmp_path / "file" / "out"))


@pytest.mark.slow
def test_its_processes_import_nothing_from_the_current_folder(tmp_path):
    for name in ("pickle", "socket", "numpy", "tyro"):
        (tmp_path / f"{name}.py").write_text("open('executed', 'w')\nraise SystemExit(9)\n")
    # As the installed script: the first place to import from is its own folder.
    script = tmp_path / "bin" / "pxsgmcmc"
    script.parent.mkdir()
    script.write_text(
        "import sys\nfrom pxsgmcmc.cli import main\n"
        "if __name__ == '__main__':\n    sys.exit(main(sys.argv[1:]))\n"
    )
    words = ["data", "corrupt", "digits", "out", "--limit", "2"]
    done = subprocess.run(
        [sys.executable, script, *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "executed").exists()
