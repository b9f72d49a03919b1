"""The web service on the page of exports, run on loopback."""

import json
import re
import shutil
import threading
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from pxsgmcmc.export import reader
from tests.helpers.waiting import wait_until

PAGE = Path(__file__).parents[2] / "docs" / "export.md"


@pytest.fixture
def address(classes, tmp_path, monkeypatch):
    """Where the service of the page listens, on a port of its own."""
    pytest.importorskip("fastapi", reason="FastAPI is not installed")
    uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    classes.export(tmp_path / "model.px", draws=2)
    shutil.copy(reader.__file__, tmp_path / "reader.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```py\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (code,) = [block for block in blocks if "FastAPI" in block]
    assert len(code.strip().splitlines()) <= 30
    names = {"__name__": "serve"}
    exec(compile(code, "serve.py", "exec"), names)
    server = uvicorn.Server(uvicorn.Config(names["app"], port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started, "the start of the service")
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(30)


def asked(address, inputs):
    data = json.dumps({"inputs": inputs}).encode()
    request = urllib.request.Request(
        f"{address}/predict", data, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


@pytest.mark.filterwarnings("ignore")  # those of the web framework
def test_the_service_predicts_and_refuses(address, classes):
    with urllib.request.urlopen(f"{address}/about", timeout=60) as answer:
        assert json.load(answer)["input"]["shape"] == [8, 8, 1]
    x = classes.problem.test.x[:3]
    found = np.array(asked(address, x.tolist())["probabilities"])
    expected = reader.FrozenPredictor("model.px")(x)["probabilities"]
    np.testing.assert_allclose(found, expected, atol=1e-7)
    for wrong in ([[1, 2]], [[["a"]]], []):
        with pytest.raises(urllib.error.HTTPError) as refused:
            asked(address, wrong)
        assert refused.value.code == 422
        refused.value.close()
