// SPDX-License-Identifier: Apache-2.0
#include "output/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "output/text.h"

namespace likewise::cli {
namespace {

/// The first sentence, where a help text is long.
std::string brief(const std::string& help) {
  constexpr std::size_t kLong = 60;
  if (help.size() <= kLong) return help;
  const std::size_t end = help.find_first_of(";.(");
  return help.substr(0, end < kLong ? end : help.rfind(' ', kLong));
}

std::vector<std::string> names_of(const VerbWords& verb) {
  std::vector<std::string> names;
  for (const OptionWords& option : verb.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

std::vector<std::string> names_of(const std::vector<VerbWords>& verbs) {
  std::vector<std::string> names;
  for (const VerbWords& verb : verbs) names.push_back(verb.name);
  return names;
}

std::string bash(const std::vector<VerbWords>& verbs) {
  std::string text = fmt::format(
      "# bash completion of likewise: source it, or put it into "
      "~/.local/share/bash-completion/completions/likewise\n"
      "_likewise() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}\n"
      "  local words= left= given= one\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ] || [ \"$COMP_CWORD $before\" = '2 help' ]; then\n"
      "    COMPREPLY=($(compgen -W '{} help --help --version' -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"${{COMP_WORDS[1]}} $before\" in\n",
      fmt::join(names_of(verbs), " "));
  for (const VerbWords& verb : verbs) {
    for (const OptionWords& option : verb.options) {
      if (!option.takes_value) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names)
        patterns.push_back(in_quotes(verb.name + " " + name));
      text += fmt::format("    {}) words={}{} ;;\n", fmt::join(patterns, " | "),
                          option.choices.empty()
                              ? "FILE"
                              : in_quotes(fmt::format("{}", fmt::join(option.choices, " "))),
                          option.is_list ? " given=${word%\"${word##*,}\"}" : "");
    }
  }
  text += "  esac\n  [ -n \"$words\" ] || case \"${COMP_WORDS[1]}\" in\n";
  for (const VerbWords& verb : verbs) {
    std::vector<std::string> all = names_of(verb);
    all.insert(all.end(), verb.choices.begin(), verb.choices.end());
    text += fmt::format("    {}) words={} ;;\n", verb.name,
                        in_quotes(fmt::format("{}", fmt::join(all, " "))));
  }
  return text +
         "  esac\n"
         "  [ \"$words\" != FILE ] || return\n"
         "  for one in $words; do [[ \",$given\" == *\",$one,\"* ]] || left+=\" $given$one\"; "
         "done\n"
         "  COMPREPLY=($(compgen -W \"$left\" -- \"$word\"))\n"
         "}\n"
         "complete -o bashdefault -o default -F _likewise likewise\n";
}

/// Within a specification of _arguments.
std::string zsh_text(const std::string& help) {
  std::string out;
  for (const char c : brief(help)) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh(const std::vector<VerbWords>& verbs) {
  std::string text =
      "#compdef likewise\n"
      "# zsh completion of likewise: put it as _likewise into a folder of $fpath\n"
      "_likewise() {\n"
      "  if (( CURRENT == 2 )); then\n"
      "    local -a verbs=(\n";
  for (const VerbWords& verb : verbs) {
    text += fmt::format("      {}\n", in_quotes(verb.name + ":" + verb.summary));
  }
  text +=
      "    )\n"
      "    _describe verb verbs\n"
      "    return\n"
      "  fi\n"
      "  local verb=${words[2]}\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $verb in\n";
  for (const VerbWords& verb : verbs) {
    text += fmt::format("    {})\n      _arguments -S", verb.name);
    for (const OptionWords& option : verb.options) {
      for (const std::string& name : option.names) {
        std::string value;
        if (option.takes_value) {
          value = option.choices.empty()
                      ? ":value:_files"
                      : fmt::format(fmt::runtime(option.is_list ? ":value:_values -s , value {}"
                                                                : ":value:({})"),
                                    fmt::join(option.choices, " "));
        }
        text +=
            fmt::format(" \\\n        {}",
                        in_quotes(fmt::format("*{}[{}]{}", name, zsh_text(option.help), value)));
      }
    }
    const std::string argument = verb.choices.empty()
                                     ? "*:file:_files"
                                     : fmt::format("*:word:({})", fmt::join(verb.choices, " "));
    text += fmt::format(" \\\n        {}\n      ;;\n", in_quotes(argument));
  }
  return text +
         "  esac\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _likewise ]; then\n"
         "  _likewise \"$@\"\n"
         "else\n"
         "  compdef _likewise likewise\n"
         "fi\n";
}

std::string fish(const std::vector<VerbWords>& verbs) {
  const auto escaped = [](const std::string& text) {  // fish knows \' between single quotes
    std::string out = "'";
    for (const char c : text)
      out += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
    return out + "'";
  };
  std::string text =
      "# fish completion of likewise: put it into ~/.config/fish/completions/likewise.fish\n"
      "function __likewise_list  # those of a list that are not in it yet\n"
      "  set -l given (string match -r '.*,' -- (string replace -r '^--[^=]*=' '' -- (commandline "
      "-ct)))\n"
      "  for word in $argv\n"
      "    string match -q -- \"*,$word,*\" \",$given\"; or echo \"$given$word\"\n"
      "  end\n"
      "end\n";
  for (const VerbWords& verb : verbs) {
    text += fmt::format("complete -c likewise -n __fish_use_subcommand -f -a {} -d {}\n", verb.name,
                        escaped(verb.summary));
  }
  for (const VerbWords& verb : verbs) {
    const std::string seen = fmt::format("-n '__fish_seen_subcommand_from {}'", verb.name);
    for (const OptionWords& option : verb.options) {
      text += "complete -c likewise " + seen;
      for (const std::string& name : option.names) {
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (option.takes_value) text += " -r";
      if (!option.choices.empty()) {
        text += fmt::format(
            " -f -a {}",
            escaped(fmt::format(fmt::runtime(option.is_list ? "(__likewise_list {})" : "{}"),
                                fmt::join(option.choices, " "))));
      }
      text += fmt::format(" -d {}\n", escaped(brief(option.help)));
    }
    if (!verb.choices.empty()) {
      text += fmt::format("complete -c likewise {} -f -a {}\n", seen,
                          escaped(fmt::format("{}", fmt::join(verb.choices, " "))));
    }
  }
  return text;
}

}  // namespace

std::string completion_script(const std::string& shell, const std::vector<VerbWords>& verbs) {
  if (shell == "bash") return bash(verbs);
  return shell == "zsh" ? zsh(verbs) : fish(verbs);
}

}  // namespace likewise::cli
