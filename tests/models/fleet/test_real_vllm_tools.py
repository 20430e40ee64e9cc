"""Native tool calls of the real vLLM: its own parser reads them from the text of a model that always calls.

`MARKSCHEME_VLLM` names an environment that has it; `.ci/vllm FOLDER` makes one.
"""

import json
import os

import pytest
from real_servers import environment
from tiny_llama import make_scripted_llama

from markscheme.cli import main
from markscheme.runs.folder import Run

pytestmark = [pytest.mark.timeout(900), pytest.mark.needs("torch", "transformers")]

PIECES = ["<tool_call>", '{"name": "python", "arguments": {"code": "3 + 4"}}', "</tool_call>"]
SERVER = ("enforce-eager", "dtype=float32", "max-model-len=2048", "enable-auto-tool-choice", "tool-call-parser=hermes")


@pytest.mark.needs_program("bwrap")
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_vllm_when_it_parses_tool_calls_then_they_are_run_and_handed_back_until_the_turns_are_used_up(
    api, tmp_path, monkeypatch, capsys
):
    program = environment("MARKSCHEME_VLLM", "vllm", ".ci/vllm")
    # Attention on processors takes only some sizes of a head.
    weights = make_scripted_llama(tmp_path / "caller", PIECES, head_dim=64)
    monkeypatch.setenv("PATH", f"{program}:{os.environ['PATH']}")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")  # GiB
    (tmp_path / "sums.jsonl").write_text('{"question": "What is 3 + 4?", "answer": "7"}\n')
    server = [word for option in SERVER for word in ("--server-arg", option)]
    asked = ["run", str(tmp_path / "sums.jsonl"), "--model", f"vllm/{weights}", *server, "--server-timeout", "600"]
    asked += [
        "--api",
        api,
        "--tools",
        "python",
        "--max-turns",
        "3",
        "--max-tokens",
        "64",
        "--out",
        str(tmp_path / "run"),
        "--json",
    ]
    assert main(asked) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["tools"]["calls"] == 2
    assert report["tools"]["tokens"] > 0
    [response] = Run.open(tmp_path / "run").responses()
    assert [turn.role for turn in response.turns] == ["assistant", "tool", "assistant", "tool", "assistant"]
    assert {turn.text for turn in response.turns if turn.role == "tool"} == {"7"}
    assert all(turn.first_token is not None for turn in response.turns if turn.role == "assistant")
    assert response.cut_off_by_turns
