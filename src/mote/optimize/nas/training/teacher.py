"""A large teacher network for distillation in a search; it is trained once and need not fit the target."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mote.base.files import read_file, replace_file
from mote.base.progress import Say
from mote.optimize.nas.sampled import batch_size, examples, scale_of
from mote.optimize.nas.spaces.network import Network
from mote.optimize.nas.spaces.space import SearchSpace
from mote.optimize.nas.tasks import LearningTask
from mote.optimize.nas.training.fit import NetworkRecipe, train_network
from mote.optimize.nas.training.module import NetworkModule
from mote.optimize.nas.training.supernet import ResizingTeacher
from mote.optimize.train.training import chosen


@dataclass(eq=False)
class NetworkTeacher:
    """The largest network of a space as distillation teacher, shared by all families of a search."""

    space: SearchSpace
    task: LearningTask
    epochs: int
    seed: int = 0
    augment: str = ""
    device: str = "auto"
    state: bytes = b""
    """Serialized weights after training; empty before."""

    @property
    def network(self) -> Network:
        return self.space.network(self.space.largest(), self.task.input, self.task.outputs, self.task.classes)

    def prepare(self, checkpoint: str, say: Say) -> None:
        """Trains the teacher unless that is done already; `checkpoint` is a file to save it to and load it from, or
        empty."""
        if not self.state and checkpoint and Path(checkpoint).is_file():
            self.state = read_file(checkpoint)
        if self.state:
            return
        module = NetworkModule(self.network, self.seed)
        train_network(
            module,
            examples(self.network, self.task, self.task.train),
            NetworkRecipe(self.epochs, batch_size(self.task), seed=self.seed, augment=self.augment),
            device=self.device,
            progress=lambda epoch, epochs, loss: say(f"teacher of {self.space.name}: {epoch} of {epochs} epochs"),
        )
        self.state = module.state()
        if checkpoint:
            replace_file(Path(checkpoint), self.state)

    def module(self, network: Network) -> ResizingTeacher | None:
        """The teacher of a network; None if their inputs are scaled differently."""
        if scale_of(network, self.task) != scale_of(self.network, self.task):
            return None
        module = NetworkModule(self.network).load_state(self.state).to(chosen(self.device))
        return ResizingTeacher(module)
