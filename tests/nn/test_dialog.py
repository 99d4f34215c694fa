"""The dialog kernel against Algorithm 1 taken literally: one sample, one step, one participant at a time."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from towhom.nn import dialog
from towhom.nn.dialog import Interacting, Observing, Steps
from towhom.nn.kernels import load_kernels

Units = tuple[Interacting, Interacting, Observing]
UTTERANCES = 6


@pytest.fixture(autouse=True)
def _compiler() -> None:
    if load_kernels(7) is None:
        pytest.skip("there are no kernels")


def units(hidden: int, dtype: torch.dtype, *, seed: int = 0) -> tuple[Tensor, Units]:
    """Random utterances and weights, the same numbers in both precisions."""
    generator = torch.Generator().manual_seed(seed)

    def uniform(rows: int, gates: int) -> Tensor:
        drawn = torch.rand(rows, gates * hidden, generator=generator) - 0.5
        return drawn.to(dtype).requires_grad_()

    def interacting() -> Interacting:
        return Interacting(
            uniform(hidden, 4),
            uniform(hidden, 4),
            uniform(hidden, 4),
            uniform(hidden, 1),
            uniform(hidden, 1),
        )

    observing = (uniform(hidden, 3), uniform(hidden, 2), uniform(hidden, 3), uniform(hidden, 1))
    return uniform(UTTERANCES, 1), (interacting(), interacting(), Observing(*observing))


def random_steps(samples: int, length: int, people: int, *, seed: int) -> Steps:
    """Messages to somebody and to nobody, shorter contexts, fewer people than there may be."""
    generator = torch.Generator().manual_seed(seed)

    def below(limit: Tensor, width: int) -> Tensor:
        drawn = torch.rand(samples, width, generator=generator) * limit[:, None]
        return drawn.floor().to(torch.int32)

    present = torch.randint(1, people + 1, (samples,), generator=generator).to(torch.int32)
    present[0] = people
    sender, addressee = below(present, length), below(present, length)
    addressee[(addressee == sender) | (torch.rand(samples, length, generator=generator) < 0.3)] = -1
    missing = torch.randint(0, length + 1, (samples, 1), generator=generator)
    missing[0] = 0
    absent = torch.arange(length) < missing
    sender[absent], addressee[absent] = -1, -1
    return Steps(sender, addressee, below(torch.full((samples,), UTTERANCES), length), present)


def interact(unit: Interacting, own: Tensor, other: Tensor, utterance: Tensor) -> Tensor:
    pre = utterance @ unit.said + own @ unit.self + other @ unit.other
    x_r, x_p, x_z, x_c = pre.chunk(4)
    r, p, z = torch.sigmoid(x_r), torch.sigmoid(x_p), torch.sigmoid(x_z)
    c = torch.tanh(x_c + (r * own) @ unit.u + (p * other) @ unit.v)
    return z * own + (1 - z) * c


def observe(unit: Observing, own: Tensor, sender: Tensor, utterance: Tensor) -> Tensor:
    x_r, x_z, x_c = (utterance @ unit.said + sender @ unit.sender).chunk(3)
    m_r, m_z = unit.self.chunk(2, dim=1)
    r, z = torch.sigmoid(x_r + own @ m_r), torch.sigmoid(x_z + own @ m_z)
    return z * own + (1 - z) * torch.tanh(x_c + (r * own) @ unit.u)


def final_states(utterances: Tensor, of: Units, steps: Steps, participants: int) -> Tensor:
    return dialog.final_states(utterances, *of, steps, participants)


def algorithm_1(utterances: Tensor, of: Units, steps: Steps, participants: int) -> Tensor:
    sender_unit, addressee_unit, observer_unit = of
    zero = sender_unit.u.new_zeros(len(sender_unit.u))
    samples: list[Tensor] = []
    for sender, addressee, message, present in zip(*(part.tolist() for part in steps), strict=True):
        states = [zero] * participants
        for sdr, adr, said in zip(sender, addressee, message, strict=True):
            if sdr < 0:
                continue
            before, utterance = list(states), utterances[said]
            for person in range(present):
                if person == sdr:
                    other = before[adr] if adr >= 0 else zero
                    states[person] = interact(sender_unit, before[sdr], other, utterance)
                elif person == adr:
                    states[person] = interact(addressee_unit, before[adr], before[sdr], utterance)
                else:
                    states[person] = observe(observer_unit, before[person], before[sdr], utterance)
        samples.append(torch.stack(states))
    return torch.stack(samples)


def gradients(states: Tensor, utterances: Tensor, of: Units) -> Sequence[Tensor]:
    weights = torch.linspace(-1, 2, states.numel(), dtype=states.dtype).reshape(states.shape)
    leaves = [utterances, *(tensor for unit in of for tensor in unit)]
    # Alone, nobody is addressed and nobody observes.
    return torch.autograd.grad((weights * states).sum(), leaves, allow_unused=True, materialize_grads=True)


@pytest.mark.usefixtures("lanes")
@pytest.mark.parametrize("hidden", [7, 16, 50])
@pytest.mark.parametrize(
    ("samples", "length", "people"), [(1, 1, 1), (1, 3, 2), (3, 5, 1), (4, 6, 3), (9, 5, 16), (6, 15, 4)]
)
def test_kernel_is_algorithm_1(hidden: int, samples: int, length: int, people: int) -> None:
    steps = random_steps(samples, length, people, seed=samples + length)
    exact, fast = units(hidden, torch.float64), units(hidden, torch.float32)
    assert not dialog.available(exact[0])
    assert dialog.available(fast[0])
    expected = algorithm_1(*exact, steps, people)
    states = final_states(*fast, steps, people)
    assert states.shape == (samples, people, hidden)
    assert_close(states.double(), expected, rtol=0, atol=5e-6)
    for found, want in zip(gradients(states, *fast), gradients(expected, *exact), strict=True):
        assert_close(found.double(), want, rtol=2e-4, atol=2e-4)


def test_what_is_made_up_has_what_it_is_to_test() -> None:
    steps = random_steps(9, 5, 16, seed=14)
    assert (steps.sender < 0).any()
    assert ((steps.sender >= 0) & (steps.addressee < 0)).any()
    assert (steps.addressee >= 0).any()
    assert int(steps.present.max()) == 16
    assert int(steps.present.min()) < 16


def test_without_any_message_nothing_happens() -> None:
    nobody = torch.full((2, 3), -1, dtype=torch.int32)
    steps = Steps(nobody, nobody, torch.zeros_like(nobody), torch.tensor([1, 2], dtype=torch.int32))
    of = units(7, torch.float32)
    states = final_states(*of, steps, 2)
    assert not states.any()
    assert not any(gradient.any() for gradient in gradients(states, *of))


@pytest.mark.parametrize("hidden", [7, 50])
def test_the_number_of_threads_changes_nothing(hidden: int) -> None:
    steps = random_steps(64, 15, 9, seed=3)
    of = units(hidden, torch.float32)
    states = final_states(*of, steps, 9)
    wanted = gradients(states, *of)
    for threads in (2, 3, 5, 64):
        torch.set_num_threads(threads)
        again = final_states(*of, steps, 9)
        assert torch.equal(again, states)
        assert all(map(torch.equal, gradients(again, *of), wanted))


def test_backward_goes_once() -> None:
    of = units(7, torch.float32)
    states = final_states(*of, random_steps(2, 3, 2, seed=0), 2)
    torch.autograd.grad(states.sum(), of[0], retain_graph=True)
    with pytest.raises(RuntimeError, match="the dialog kernel goes backward once"):
        torch.autograd.grad(states.sum(), of[0])
