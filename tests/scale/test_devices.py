"""Which GPUs each replica gets."""

import os

import pytest

from markscheme.errors import UsageError
from markscheme.scale.devices import device_groups, gpus_of_server, visible_devices

EIGHT = tuple("01234567")


@pytest.mark.parametrize(
    ("devices", "replicas", "size", "groups"),
    [
        (EIGHT, 8, 1, [(one,) for one in EIGHT]),
        (EIGHT, 2, 4, [tuple("0123"), tuple("4567")]),
        (EIGHT, 3, 2, [tuple("01"), tuple("23"), tuple("45")]),
        (EIGHT, 2, None, [tuple("0123"), tuple("4567")]),
        (EIGHT, 1, None, [None]),
        (EIGHT, 1, 2, [tuple("01")]),
        (EIGHT, 2, 0, [(), ()]),
        ((), 4, None, [None] * 4),
        ((), 4, 1, [None] * 4),
    ],
)
def test_groups_when_they_fit_then_no_gpu_twice(devices, replicas, size, groups):
    assert device_groups(devices, replicas, size) == groups


@pytest.mark.parametrize(("devices", "replicas", "size"), [(EIGHT, 3, 4), (EIGHT, 9, None), ((), 2, 2)])
def test_groups_when_there_are_too_few_gpus_then_says_how_many(devices, replicas, size):
    with pytest.raises(UsageError, match=f"--replicas {replicas} with .* need .* GPUs, and"):
        device_groups(devices, replicas, size)


@pytest.mark.parametrize(
    ("arguments", "gpus"),
    [
        ({}, 1),
        ({"tp": "4"}, 4),
        ({"tensor-parallel-size": "2", "pipeline-parallel-size": "2"}, 4),
        ({"dp-size": "3"}, 3),
    ],
)
def test_gpus_of_a_server_when_it_is_parallel_then_the_product(arguments, gpus):
    assert gpus_of_server(arguments) == gpus


def test_gpus_of_a_server_when_the_size_is_no_number_then_refused():
    with pytest.raises(UsageError, match="tensor-parallel-size=two"):
        gpus_of_server({"tensor-parallel-size": "two"})


def test_devices_when_the_environment_names_some_then_those(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2, GPU-1a")
    assert visible_devices() == ("2", "GPU-1a")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert visible_devices() == ()


def test_devices_when_the_driver_lists_them_then_those(monkeypatch, tmp_path):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\nprintf '0\\n1\\n'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert visible_devices() == ("0", "1")
    program.write_text("#!/bin/sh\necho no driver\nexit 9\n")
    assert visible_devices() == ()
