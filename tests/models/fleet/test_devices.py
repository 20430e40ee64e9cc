"""Which GPUs each replica gets."""

from shutil import which

import pytest

from markscheme.errors import UsageError
from markscheme.models.fleet.devices import CUDA, HIP, ROCR, device_groups, gpus_of_server, visible_devices

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
        ([], 1),
        ([("tp", "4")], 4),
        ([("tensor-parallel-size", "2"), ("pipeline-parallel-size", "2")], 4),
        ([("tensor_parallel_size", "4")], 4),
        ([("tp", "2"), ("prefill_context_parallel_size", "2")], 4),
        ([("dp-size", "3")], 3),
        ([("tp", "8"), ("dp", "8"), ("enable-dp-attention", "")], 8),
        ([("tp", "2"), ("tp", "4")], 4),
    ],
)
def test_gpus_of_a_server_when_it_is_parallel_then_as_many_as_it_spreads_over(arguments, gpus):
    assert gpus_of_server(arguments) == gpus


@pytest.mark.parametrize("size", ["two", "0", ""])
def test_gpus_of_a_server_when_the_size_is_no_number_then_refused(size):
    with pytest.raises(UsageError, match=f"tensor-parallel-size={size} is not"):
        gpus_of_server([("tensor_parallel_size", size)])


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine of which nothing is known."""
    for name in (CUDA, HIP, ROCR):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("markscheme.models.fleet.devices.AMD_NODES", tmp_path / "nodes")
    monkeypatch.setattr("markscheme.models.fleet.devices.shutil.which", lambda name: which(name, path=str(tmp_path)))
    return tmp_path


@pytest.mark.parametrize(
    ("value", "devices"),
    [
        ("2, GPU-1a", ("2", "GPU-1a")),
        ("-1", ()),
        ("", ()),
        ("NoDevFiles", ()),
        ("0,0,1", ("0", "1")),
        ("0,-1,1", ("0",)),
    ],
)
def test_devices_when_the_environment_names_some_then_those_and_none_twice(machine, monkeypatch, value, devices):
    monkeypatch.setenv(CUDA, value)
    assert visible_devices() == (devices, (CUDA,))


@pytest.mark.parametrize(
    ("given", "devices", "variables"),
    [
        ({HIP: "2,3"}, ("2", "3"), (HIP,)),
        ({ROCR: "4,5"}, ("4", "5"), (ROCR,)),
        ({ROCR: "4,5", HIP: "0,1"}, ("0", "1"), (HIP,)),
        ({CUDA: "0,1", HIP: "0,1"}, ("0", "1"), (CUDA, HIP)),
    ],
)
def test_devices_when_amds_variables_name_some_then_a_server_is_told_by_the_same(
    machine, monkeypatch, given, devices, variables
):
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    visible = visible_devices()
    assert visible == (devices, variables)
    assert visible.only(devices[:1]) == dict.fromkeys(variables, devices[0])
    assert visible.only(None) == {}


def test_devices_when_the_driver_lists_them_then_those(machine):
    program = machine / "nvidia-smi"
    program.write_text("#!/bin/sh\nprintf '0\\n1\\n'\n")
    program.chmod(0o755)
    assert visible_devices() == (("0", "1"), (CUDA,))
    program.write_text("#!/bin/sh\necho no driver\nexit 9\n")
    assert visible_devices().devices == ()


def test_devices_when_the_gpus_are_amds_then_counted_without_the_processors(machine):
    for node, units in enumerate((0, 304, 304)):
        folder = machine / "nodes" / str(node)
        folder.mkdir(parents=True)
        (folder / "properties").write_text(
            f"cpu_cores_count {0 if units else 64}\nsimd_count {units}\nmem_banks_count 1\n"
        )
    assert visible_devices() == (("0", "1"), (CUDA, HIP))
