"""A frozen predictor says what the run says, and says it without this package."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.export import reader
from pxsgmcmc.export.choose import evenly
from tests.helpers.cli_calls import assert_one_line, call

pytest.importorskip("flatbuffers", reason="jax.export writes with flatbuffers")
NAMES = ("probabilities", "entropy", "aleatoric", "epistemic")


@pytest.fixture(scope="module")
def model(classes, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.px"
    classes.export(path)
    return path


def test_classes_agree_with_the_run_to_1e_6(classes, model):
    x = classes.problem.test.x[:37]
    found, expected = px.FrozenPredictor(model)(x, batch_size=20), classes.predict(x)
    assert sorted(found) == sorted(NAMES)
    for name in NAMES:
        np.testing.assert_allclose(found[name], getattr(expected, name), atol=1e-6)


def test_numbers_agree_with_the_run_to_1e_6_of_their_size(numbers, tmp_path):
    said = numbers.export(tmp_path / "model.px", levels=[0.1, 0.5, 0.9])
    x = numbers.problem.test.x
    found, expected = px.FrozenPredictor(said.path)(x), numbers.predict(x)
    for name in ("mean", "std", "aleatoric", "epistemic"):
        exact = getattr(expected, name)
        np.testing.assert_allclose(found[name], exact, rtol=2e-6, atol=1e-6 * np.abs(exact).max())
    quantiles = expected.quantile([0.1, 0.5, 0.9]).swapaxes(0, 1)
    np.testing.assert_allclose(found["quantiles"], quantiles, rtol=1e-6)
    assert said.difference < 1e-4 and said.loss == {}


def test_it_is_read_where_this_package_cannot_be_imported(classes, model, tmp_path):
    x = classes.problem.test.x[:5]
    np.save(tmp_path / "x.npy", x)
    shutil.copy(reader.__file__, tmp_path / "reader.py")
    code = f"""
import sys
sys.modules["pxsgmcmc"] = None
sys.path.insert(0, {str(tmp_path)!r})
import numpy as np
from reader import FrozenPredictor
found = FrozenPredictor({str(model)!r})(np.load({str(tmp_path / "x.npy")!r}))
np.save({str(tmp_path / "p.npy")!r}, found["probabilities"])
assert not {{"msgspec", "optax", "safetensors", "flax", "rich"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-I", "-c", code], check=True)
    expected = classes.predict(x).probabilities
    np.testing.assert_allclose(np.load(tmp_path / "p.npy"), expected, atol=1e-6)


def test_the_reader_is_thirty_lines_and_on_its_page():
    text = Path(reader.__file__).read_text("utf-8")
    lines = [line for line in text.splitlines() if line.strip() and '"""' not in line]
    statements = [line for line in lines if not line.startswith(("import", "from"))]
    assert len(statements) <= 30
    page = Path(__file__).parents[2] / "docs" / "export.md"
    assert text in page.read_text("utf-8")


def test_the_manifest_says_where_it_came_from(classes, model):
    manifest = px.FrozenPredictor(model).manifest
    assert manifest["run"]["data_sha256"] == classes.problem.sha256
    assert manifest["input"] == {"shape": [8, 8, 1], "dtype": "uint8"}
    assert [draw["sha256_in_run"] for draw in manifest["draws"]] == [
        draw.sha256 for chain in (0, 1) for draw in classes.index(chain)
    ]
    assert manifest["written_by"]["platforms"] == ["cpu", "cuda", "tpu"]
    data = model.read_bytes()
    assert not any(word in data for word in (b"site-packages", b"/src/", str(Path.home()).encode()))


def test_the_same_export_has_the_same_bytes(classes, model, tmp_path):
    assert classes.export(tmp_path / "again.px").path.read_bytes() == model.read_bytes()


def test_a_damaged_file_is_refused_in_one_sentence_or_says_the_same(classes, model, tmp_path):
    data, path = model.read_bytes(), tmp_path / "damaged.px"
    x = classes.problem.test.x[:2]
    expected = px.FrozenPredictor(model)(x)["probabilities"]
    places = np.random.default_rng(0).integers(0, len(data), 60).tolist()
    refused = 0
    for damaged in [
        *(data[:place] + bytes([data[place] ^ 64]) + data[place + 1 :] for place in places),
        *(data[:place] for place in places[:20]),
    ]:
        path.write_bytes(damaged)
        try:
            predictor = px.FrozenPredictor(path)
        except ValueError as error:
            assert "cannot be read as an exported predictor" in str(error)
            assert len(str(error)) < 400 and "\n" not in str(error)
            refused += 1
        else:  # a byte that nothing depends on, such as the date of a member
            np.testing.assert_array_equal(predictor(x)["probabilities"], expected)
    assert refused >= 70


@pytest.mark.parametrize(
    "part, content",
    [
        ("draw.stablehlo", b""),
        ("average.stablehlo", b"\0" * 100),
        ("average.stablehlo", "draw.stablehlo"),  # one in the place of the other
        ("manifest.json", {}),  # a draw less than the programs average
        ("manifest.json", {"input": {"shape": ["\x1b"], "dtype": "uint8"}}),
        ("manifest.json", {"input": {"shape": [8, 8, 1], "dtype": "no such"}}),
    ],
)
def test_a_forged_file_whose_hashes_are_right_is_refused_in_one_sentence(
    model, tmp_path, part, content
):
    with zipfile.ZipFile(model) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    manifest = json.loads(parts["manifest.json"])
    if isinstance(content, dict):
        manifest |= content
    elif isinstance(content, str):
        parts[part], parts[content] = parts[content], parts[part]
    else:
        parts[part] = content
    if part == "manifest.json" and not content:
        manifest["draws"].pop()
    manifest["sha256"] = {
        name: hashlib.sha256(parts[name]).hexdigest() for name in manifest["sha256"]
    }
    with zipfile.ZipFile(tmp_path / "forged.px", "w") as new:
        for name, data in (parts | {"manifest.json": json.dumps(manifest).encode()}).items():
            new.writestr(name, data)
    with pytest.raises(ValueError, match="cannot be read as an exported predictor") as refused:
        px.FrozenPredictor(tmp_path / "forged.px")
    assert "\n" not in str(refused.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in folders here")
def test_a_pipe_or_a_folder_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "model.px")
    for path in (tmp_path / "model.px", tmp_path):
        with pytest.raises(ValueError, match="is no regular file"):
            px.FrozenPredictor(path)


def test_weights_that_were_swapped_are_noticed_by_their_hash(model, tmp_path):
    path = tmp_path / "swapped.px"
    with zipfile.ZipFile(model) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            source = "draws/000002.npy" if name == "draws/000001.npy" else name
            new.writestr(name, old.read(source))
    with pytest.raises(ValueError, match=r"draws/000001\.npy is not as it was written"):
        px.FrozenPredictor(path)


@pytest.mark.parametrize("x", [np.zeros((2, 8, 8)), np.zeros((0, 8, 8, 1), np.uint8)])
def test_inputs_that_do_not_fit_are_refused(model, x):
    with pytest.raises(ValueError, match=r"inputs must be rows of uint8\[8, 8, 1\], got"):
        px.FrozenPredictor(model)(x)


def test_fewer_draws_come_from_every_chain_and_their_loss_is_measured(classes, tmp_path):
    said = classes.export(tmp_path / "two.px", draws=2)
    manifest = px.FrozenPredictor(said.path).manifest
    assert [draw["chain"] for draw in manifest["draws"]] == [0, 1]
    y, x = classes.problem.test.y, classes.problem.test.x
    p = px.FrozenPredictor(said.path)(x)["probabilities"]
    nll = -np.log(p[np.arange(len(y)), y]).mean()
    assert abs(said.loss["nll_of_predictor"] - nll) < 1e-5
    assert abs(said.loss["nll_of_run"] - classes.evaluate().test.metrics["nll"]) < 1e-5
    same = p.argmax(1) == classes.predict(x).probabilities.argmax(1)
    assert said.loss["agreement"] == same.mean()
    assert "2 of 6 draws" in repr(said) and "test rows" in repr(said)


def test_greedy_draws_are_at_least_as_good_on_validation_as_any_single_addition(classes, tmp_path):
    said = classes.export(tmp_path / "one.px", draws=1, choose="greedily")
    (kept,) = px.FrozenPredictor(said.path).manifest["draws"]
    x, y = classes.problem.validation
    nll = {
        (chain, place + 1): -np.log(
            classes.chain(chain)[place : place + 1].predict(x).probabilities[np.arange(len(y)), y]
        ).mean()
        for chain in (0, 1)
        for place in range(3)
    }
    assert (kept["chain"], kept["number"]) == min(nll, key=lambda draw: nll[draw])


def test_half_precision_halves_the_weights_and_says_what_it_costs(numbers, tmp_path):
    whole, half = (
        numbers.export(tmp_path / f"{p}.px", precision=p, draws=3) for p in ("single", "half")
    )
    sizes = []
    for said in (whole, half):
        with zipfile.ZipFile(said.path) as file:
            sizes.append(len(file.read("draws/000001.npy")) - 128)  # NumPy's header
    assert sizes[0] == 2 * sizes[1] == 4 * (3 * 8 + 8 * 2)
    assert half.difference < 1e-4  # the file does what its rounded weights say
    assert half.loss["mean_difference"] > 0 and "standard deviations" in repr(half)


def test_evenly_spread_draws_are_apart_and_end_at_the_last():
    for there in range(1, 30):
        for count in range(1, there + 1):
            places = evenly(count, there)
            gaps = np.diff([-1, *places])
            assert places[-1] == there - 1 and len(set(places)) == count
            assert gaps.max() - gaps.min() <= 1


def test_a_network_that_needs_the_number_of_rows_is_named(numbers, tmp_path):
    problem = px.Problem(
        lambda W, x: x.reshape(len(x), -1) @ W,
        px.likelihoods.categorical(),
        train=(np.zeros((6, 3), np.float32), np.arange(6) % 3),
    )
    sampler = px.sgld(px.potential(problem), 1e-3)
    run = px.sample(
        sampler, jnp.ones((3, 3)), problem, draws=1, cycle_length=2, batch_size=3, progress=False
    )
    with pytest.raises(px.UserError, match="must work for any number of rows"):
        run.export(tmp_path / "model.px")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"draws": 7}, "at most the 6 that the run has, got 7"),
        ({"draws": 0}, "`draws` must be"),
        ({"choose": "random"}, "`choose` must be 'evenly' or 'greedily', got 'random'"),
        ({"precision": 16}, "`precision` must be 'single' or 'half', got 16"),
        ({"levels": [0.0, 0.5]}, "`levels` must be numbers between 0 and 1"),
        ({"draws": 2, "choose": "greedily"}, "needs validation rows, and the problem has none"),
    ],
)
def test_bad_arguments_are_named(numbers, tmp_path, settings, words):
    with pytest.raises(px.UserError, match=words):
        numbers.export(tmp_path / "model.px", **settings)
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_what_the_method_writes(classes_folder, model, tmp_path):
    said = call("export", str(classes_folder), "-o", str(tmp_path / "m.px"))
    assert said.code == 0 and "6 draws" in said.out and "read back" in said.out, said
    assert (tmp_path / "m.px").read_bytes() == model.read_bytes()
    assert_one_line(call("export", str(classes_folder)), 2, "`-o` must name the file")
    again = call("export", str(classes_folder), "-o", str(tmp_path / "m.px"))
    assert_one_line(again, 2, "is there already")
    wrong = call("export", str(classes_folder), "-o", str(tmp_path / "m.zip"))
    assert_one_line(wrong, 2, "ending in .px or .onnx")


@pytest.mark.parametrize(
    ("name", "settings"), [("cnn", {}), ("resnet_frn", {"depth": 8, "width": 32}), ("vit", {})]
)
def test_networks_of_the_zoo_have_a_plain_twin_for_any_batch(name, settings):
    from jax import export

    network = px.models.build(name, **settings)
    x = np.random.default_rng(1).normal(size=(6, 8, 8, 1)).astype(np.float32)
    params = network.init(jax.random.key(0), x)
    (rows,) = export.symbolic_shape("rows")
    like = jax.ShapeDtypeStruct((rows, 8, 8, 1), np.float32)
    twin = export.export(jax.jit(network.apply), platforms=["cpu", "cuda", "tpu"])(
        jax.eval_shape(lambda: params), like
    )
    expected = np.asarray(jax.jit(network.apply)(params, x))
    found = np.asarray(jax.jit(twin.call)(params, x))
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
