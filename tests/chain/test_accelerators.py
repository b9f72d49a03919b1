"""What can be known of an accelerator without having one."""

from types import SimpleNamespace

import jax
import pytest

import pxsgmcmc as px
from pxsgmcmc.chain import accelerators, start
from pxsgmcmc.chain.accelerators import accelerator_versions
from pxsgmcmc.chain.precision import matmul_precision, repeatability_note
from pxsgmcmc.errors import UserError
from pxsgmcmc.store import open_run
from tests.helpers.chain_problems import run


def test_versions_of_driver_runtime_and_libraries_are_found(tmp_path, monkeypatch):
    installed = {"jax-cuda12-plugin": "0.10.2", "nvidia-cudnn-cu12": "9.8.0", "numpy": "2.0"}
    packages = [SimpleNamespace(name=name, version=v) for name, v in installed.items()]
    monkeypatch.setattr(accelerators.metadata, "distributions", lambda: packages)
    (tmp_path / "version").write_text("NVRM version: 570.86.15\nGCC version: 12\n")
    client = SimpleNamespace(platform_version="PJRT C API\ncuda 12090")
    gpu = SimpleNamespace(platform="gpu", client=client)
    assert accelerator_versions(gpu, tmp_path / "version") == {
        "platform": "PJRT C API cuda 12090",
        "jax-cuda12-plugin": "0.10.2",
        "nvidia-cudnn-cu12": "9.8.0",
        "driver": "NVRM version: 570.86.15",
    }
    assert "driver" not in accelerator_versions(gpu, tmp_path / "nowhere")
    assert accelerator_versions(jax.devices()[0]) == {}


@pytest.mark.parametrize(
    ("flags", "noted"),
    [
        ("", True),
        ("--xla_gpu_deterministic_ops=true", False),
        ("--xla_gpu_deterministic_ops", False),
        ("--xla_gpu_deterministic_ops=true --xla_gpu_deterministic_ops=false", True),
    ],
)
def test_a_gpu_without_deterministic_operations_is_told_of(flags, noted):
    note = repeatability_note("gpu", flags)
    assert (note is not None and "--xla_gpu_deterministic_ops=true" in note) == noted
    assert repeatability_note("cpu", flags) is None


def test_the_note_is_said_when_a_chain_starts(monkeypatch, capsys):
    monkeypatch.setattr(start, "repeatability_note", lambda platform, flags: f"On a {platform}.")
    run(progress="plain", draws=1)
    assert "On a cpu." in capsys.readouterr().err


def test_the_precision_of_products_is_chosen_and_an_own_setting_is_kept():
    def now():
        return jax.config.jax_default_matmul_precision

    with matmul_precision("auto", "gpu"):
        assert now() == "float32"
    with matmul_precision("auto", "cpu"):
        assert now() is None
    with matmul_precision("tensorfloat32", "gpu"):
        assert now() == "tensorfloat32"
    with jax.default_matmul_precision("bfloat16"), matmul_precision("auto", "gpu"):
        assert now() == "bfloat16"


def test_the_precision_is_part_of_the_chain(tmp_path):
    run(out=tmp_path / "run", draws=1, matmul_precision="tensorfloat32")
    settings = open_run(tmp_path / "run").manifest["origin"]["settings_of_jax"]
    assert settings["JAX's matmul precision"] == "tensorfloat32"
    with pytest.raises(UserError, match=r"matmul precision of JAX .tensorfloat32; now None"):
        run(out=tmp_path / "run", draws=2, resume=True)
    with pytest.raises(UserError, match="`matmul_precision` must be one of auto, float32"):
        run(matmul_precision="half")
    assert px.Execution().matmul_precision == "auto"
