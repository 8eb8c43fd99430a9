"""Completion in shells: scripts for bash, zsh and fish, written from the parsers of all commands."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

FILES = re.compile(r"FILE|DIR|MODEL|DATA|IMAGE|KERNELS|OLD|NEW|\.\w+$")
"""Metavars of options whose values are files or folders."""


@dataclass(frozen=True)
class Word:
    """An option, or the arguments of a command that are no options (`names` is empty then): the values to choose from,
    whether they are files, and whether there is a value at all."""

    names: tuple[str, ...]
    help: str
    values: tuple[str, ...] = ()
    files: bool = False
    takes: bool = True


Commands = Mapping[str, tuple[str, Sequence[Word]]]
"""Every command with its line of help and its words."""


def words_of(parser: argparse.ArgumentParser, targets: Sequence[str]) -> list[Word]:
    """The words of a command, from its parser. `targets` are the values of `--target`."""
    return [_word(action, targets) for action in parser._actions if action.help is not argparse.SUPPRESS]


def _word(action: argparse.Action, targets: Sequence[str]) -> Word:
    values = tuple(map(str, action.choices or ()))
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest
    if action.dest == "target":
        values = tuple(targets)
    files = not values and bool(FILES.search(metavar))
    help = re.sub(r"[^\w ,.:;()/+-]", "", (action.help or "").partition(";")[0].partition(" (")[0])
    return Word(tuple(action.option_strings), help[:60].strip(), values, files, action.nargs != 0)


def bash(commands: Commands) -> str:
    cases, values = [], []
    for name, (_, words) in commands.items():
        options = " ".join(option for word in words for option in word.names)
        arguments = [word for word in words if not word.names]
        offered = " ".join(value for word in arguments for value in word.values)
        cases.append(f'    {name}) options="{options}"; arguments="{offered}" ;;')
        for word in words:
            if word.names and word.takes:
                keys = "|".join(f"{name}:{option}" for option in word.names)
                given = f'compgen -W "{" ".join(word.values)}"' if word.values else "compgen -f" if word.files else ":"
                values.append(f"    {keys}) _mote_offer {given} ;;")
    return BASH.format(commands=" ".join(commands), cases="\n".join(cases), values="\n".join(values))


BASH = """\
# bash completion of mote: eval "$(mote completion bash)", or write this into a file that bash reads
_mote_offer() {{
  if [ "$1" = compgen ]; then
    local line
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <("$@" -- "$current")
    [ "$2" = -f ] && compopt -o filenames 2>/dev/null
  fi
}}

_mote() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
  local command="" options="" arguments="" i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${{COMP_WORDS[i]}}" in -*) ;; *) command="${{COMP_WORDS[i]}}"; break ;; esac
  done
  if [ -z "$command" ]; then
    _mote_offer compgen -W "{commands} --help --version"
    return
  fi
  case "$command:$before" in
{values}
    *)
      case "$command" in
{cases}
      esac
      case "$current" in
        -*) _mote_offer compgen -W "$options" ;;
        *) if [ -n "$arguments" ]; then _mote_offer compgen -W "$arguments"; else _mote_offer compgen -f; fi ;;
      esac ;;
  esac
}}
complete -F _mote mote
"""


def zsh(commands: Commands) -> str:
    lines = [f"    '{name}:{_plain(line)}'" for name, (line, _) in commands.items()]
    cases = []
    for name, (_, words) in commands.items():
        specs = [spec for word in words for spec in _zsh_specs(word)]
        cases.append(f"    {name})\n      _arguments " + " \\\n        ".join(specs) + " ;;")
    return ZSH.format(lines="\n".join(lines), cases="\n".join(cases))


def _zsh_specs(word: Word) -> list[str]:
    action = f"({' '.join(word.values)})" if word.values else "_files" if word.files or not word.names else " "
    if not word.names:
        return [f"'*:{_plain(word.help) or 'argument'}:{action}'"]
    value = f":value:{action}" if word.takes else ""
    return [f"'*{name}[{_plain(word.help)}]{value}'" for name in word.names]


ZSH = """\
#compdef mote
# zsh completion of mote: write this as _mote into a folder of $fpath, or eval "$(mote completion zsh)" after compinit
_mote() {{
  local -a commands
  commands=(
{lines}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{cases}
  esac
}}
if [ "${{funcstack[1]}}" = _mote ]; then _mote "$@"; else compdef _mote mote; fi
"""


def fish(commands: Commands) -> str:
    lines = [
        "# fish completion of mote: write this to ~/.config/fish/completions/mote.fish",
        "complete -c mote -n __fish_use_subcommand -f",
        "complete -c mote -n __fish_use_subcommand -l help -d 'explain the commands'",
        "complete -c mote -n __fish_use_subcommand -l version -d 'print the version'",
    ]
    for name, (line, words) in commands.items():
        lines.append(f"complete -c mote -n __fish_use_subcommand -a {name} -d '{_plain(line)}'")
        lines += [_fish_line(name, word) for word in words]
    return "\n".join(lines) + "\n"


def _fish_line(command: str, word: Word) -> str:
    where = f"complete -c mote -n '__fish_seen_subcommand_from {command}'"
    flags = [f"-l {o[2:]}" if o.startswith("--") else f"-s {o[1:]}" for o in word.names]
    given = f"-a '{' '.join(word.values)}'" if word.values else ""
    how = "" if not word.takes else "-r -F" if word.files else f"-x {given}" if word.names else f"-f {given}"
    if not word.names and not word.values:
        how = "-F"
    return " ".join(part for part in (where, *flags, how.strip(), f"-d '{_plain(word.help)}'") if part)


def _plain(text: str) -> str:
    """Help without what means something to a shell."""
    return re.sub(r"[^\w ,.()/+-]", "", text)


SHELLS: Mapping[str, Callable[[Commands], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
