#include "net/process/options.hpp"

#include <algorithm>
#include <utility>

#include "api/nearest.hpp"
#include "api/yaml.hpp"
#include "net/process/file.hpp"

namespace net {
namespace {

constexpr std::size_t help_width = 100;
constexpr std::size_t help_column = 34;

void append_wrapped(std::string& out, std::string_view text, std::size_t indent, std::size_t column) {
    while (!text.empty()) {
        const auto word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        if (column > indent && column + 1 + word.size() > help_width) {
            out += '\n' + std::string(indent, ' ');
            column = indent;
        } else if (column > indent) {
            out += ' ';
            ++column;
        }
        out += word;
        column += word.size();
    }
    out += '\n';
}

// Returns a YAML value as text of the command line: `true`, `8`, `A=true,B=false`; `a,b` if a list is
// allowed.
api::Result<std::string> as_text(const api::Json& value, bool is_list) {
    if (value.is_string()) return std::string(value.as_string());
    std::string text;
    std::string separator;
    const auto add = [&](const std::string& before, const api::Json& member) -> api::Result<> {
        auto item = as_text(member, false);
        if (!item) return item.error();
        text += std::exchange(separator, ",") + before + *item;
        return {};
    };
    if (value.is_object()) {
        for (const auto& member : value.members())
            if (auto added = add(member.key + "=", member.value); !added) return added.error();
        return text;
    }
    if (value.is_array() && is_list) {
        for (const api::Json& item : value.items())
            if (auto added = add("", item); !added) return added.error();
        return text;
    }
    if (value.is_null() || value.is_array()) return api::invalid("", "must be a single value");
    return api::to_json(value);
}

}  // namespace

Options::Options(std::string program, std::string summary, std::string version)
    : program_(std::move(program)), summary_(std::move(summary)), version_(std::move(version)) {}

void Options::add(std::string name, bool& target, std::string help) {
    add_row({.name = std::move(name),
             .help = std::move(help),
             .shown_default = target ? "true" : "",
             .read = [&target](std::string_view text) { return read_option(text, target); }});
}

api::Error Options::not_one_of(const std::vector<std::string>& words) {
    std::string known;
    for (const auto& word : words) known += (known.empty() ? "" : ", ") + word;
    return api::invalid("", "must be one of " + known);
}

std::string Options::joined(const std::vector<std::string>& words) {
    std::string text;
    for (const auto& word : words) text += (text.empty() ? "" : "|") + word;
    return text;
}

void Options::shorten(std::string_view name, char letter) { find(name)->letter = letter; }

void Options::add_command(std::string name, std::string help, std::string argument) {
    commands_.push_back({std::move(name), std::move(help), std::move(argument)});
}

void Options::add_example(std::string command, std::string about) {
    examples_.emplace_back(std::move(command), std::move(about));
}

void Options::add_row(Row row) { rows_.push_back(std::move(row)); }

Options::Row* Options::find(std::string_view name) {
    const auto row = std::ranges::find(rows_, name, &Row::name);
    return row == rows_.end() ? nullptr : &*row;
}

bool Options::given(std::string_view name) const {
    const auto row = std::ranges::find(rows_, name, &Row::name);
    return row != rows_.end() && row->given;
}

api::Error Options::unknown(std::string_view name, const std::string& dashes) const {
    std::string text = "unknown option " + dashes + std::string(name);
    api::Nearest nearest(name);
    for (const auto& row : rows_) nearest.offer(row.name);
    if (!nearest.found().empty())
        text += ": did you mean " + dashes + nearest.found() + "?";
    else
        text += ": --help lists the options";
    return api::invalid("", text);
}

api::Error Options::unexpected(std::string_view argument) const {
    std::string text = "unexpected argument \"" + std::string(argument) + "\": ";
    for (const Command& command : commands_)
        if (api::edit_distance(command.name, argument, 2) <= 2)
            return api::invalid("", text + "did you mean " + command.name + "?");
    const bool is_word = !argument.empty() && !argument.starts_with('-');
    if (is_word && argument_ && argument_->given)
        return api::invalid("", text + "only one " + argument_->placeholder + " can be given");
    const bool is_option = std::ranges::find(rows_, argument, &Row::name) != rows_.end();
    if (is_word && (is_option || argument == "help" || argument == "version"))
        return api::invalid("", text + "did you mean --" + std::string(argument) + "?");
    // A file name without its option.
    const auto file = std::ranges::find_if(
        rows_, [](const Row& row) { return row.letter != 0 && row.placeholder == "FILE"; });
    if (is_word && file != rows_.end())
        return api::invalid("", text + "did you mean -" + file->letter + " " + std::string(argument) + "?");
    text += "options begin with --";
    if (!commands_.empty()) text += ", and --help lists the commands";
    return api::invalid("", text);
}

api::Result<Options::Named> Options::read_argument(std::string_view argument) {
    const bool is_long = argument.starts_with("--") && argument.size() > 2;
    if (!is_long) {
        const bool has_letter = argument.size() > 1 && argument[0] == '-' && argument[1] != '-';
        const auto row = has_letter ? std::ranges::find(rows_, argument[1], &Row::letter) : rows_.end();
        if (row == rows_.end()) {
            const bool is_free = argument_ && (argument_->is_list || !argument_->given);
            if (is_free && !argument.starts_with('-')) {
                argument_->given = true;
                return Named{.row = &*argument_, .text = argument};
            }
            return unexpected(argument);
        }
        Named named = {.row = &*row};
        argument.remove_prefix(2);
        if (!argument.empty()) named.text = argument.substr(argument.front() == '=' ? 1 : 0);
        return named;
    }
    argument.remove_prefix(2);
    const auto equals = argument.find('=');
    const auto name = argument.substr(0, equals);
    Named named = {.row = find(name)};
    if (!named.row && name != "config") return unknown(name, "--");
    if (equals != argument.npos) named.text = argument.substr(equals + 1);
    return named;
}

api::Result<std::optional<std::string>> Options::parse(std::span<const char* const> arguments) {
    struct Given {
        Row* row;
        std::string text;
    };
    std::vector<Given> given;
    std::string config;
    bool has_config = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string_view argument = arguments[i];
        if (argument == "--help" || argument == "-h") return std::optional(help());
        if (argument == "--version") return std::optional(program_ + " " + version_ + "\n");
        const auto named = read_argument(argument);
        if (!named) return named.error();
        Row* const row = named->row;
        const bool is_config = row == nullptr;
        std::string_view text;
        if (named->text)
            text = *named->text;
        else if (row && row->placeholder.empty())
            text = "true";
        else if (++i < arguments.size())
            text = arguments[i];
        else
            return api::invalid(
                "", std::string(argument) + " needs a value: " + (is_config ? "FILE" : row->placeholder));
        if (is_config) {
            config = text;
            has_config = true;
        } else {
            const bool joins = row->is_list && !row->name.empty();
            const auto earlier = joins ? std::ranges::find(given, row, &Given::row) : given.end();
            if (earlier == given.end())
                given.push_back({row, std::string(text)});
            else
                earlier->text.append(",").append(text);
        }
    }
    // The file comes first, so that the command line overrides it.
    if (has_config)
        if (auto read = read_config(config); !read) return read.error();
    for (const auto& [row, text] : given) {
        if (auto read = row->read(text); !read)
            return api::invalid(
                "", (row->name.empty() ? text : "--" + row->name + "=" + text) + ": " + read.error().message);
        row->given = true;
    }
    if (argument_ && !argument_->given && !argument_->is_list)
        return api::invalid("", argument_->placeholder + " is missing: " + argument_->help);
    return std::optional<std::string>();
}

api::Result<> Options::read_config(const std::string& file) {
    auto text = read_file(file);
    if (!text) return api::invalid("", "--config: " + text.error().message);
    auto tree = api::parse_yaml(*text);
    if (!tree) return api::invalid("", "--config: " + file + ": " + api::describe(tree.error()));
    if (!tree->is_object() && !tree->is_null())
        return api::invalid("", "--config: " + file + " must be a YAML map of option names to values");
    for (const auto& member : tree->members()) {
        Row* row = find(member.key);
        if (!row) return api::invalid("", file + ": " + unknown(member.key, "").message);
        auto value = as_text(member.value, row->is_list);
        api::Result<> read = value ? row->read(*value) : value.error();
        if (!read) return api::invalid("", file + ": " + member.key + ": " + read.error().message);
        row->given = true;
    }
    return {};
}

std::vector<Options::Described> Options::described() const {
    std::vector<Described> all;
    for (const Row& row : rows_) all.push_back({row.name, row.letter, row.placeholder, row.help});
    return all;
}

std::string Options::shown_name(const Row& row) {
    std::string name = "  ";
    if (row.letter != 0) name += {'-', row.letter, ',', ' '};
    return name + "--" + row.name + (row.placeholder.empty() ? "[=bool]" : " " + row.placeholder);
}

std::string Options::usage(const std::string& program, const std::string& argument) {
    return program + (argument.empty() ? "" : " " + argument) + " [options]\n";
}

std::string Options::help() const {
    std::string out = "Usage: " + usage(program_, argument_ ? argument_->placeholder : "");
    for (const Command& command : commands_)
        out += "       " + usage(program_ + " " + command.name, command.argument);
    out += '\n';
    append_wrapped(out, summary_, 0, 0);
    out += '\n';
    const auto line = [&out](const std::string& left, const std::string& right) {
        out += left;
        if (left.size() + 2 > help_column)
            out += '\n' + std::string(help_column, ' ');
        else
            out.append(help_column - left.size(), ' ');
        append_wrapped(out, right, help_column, help_column);
    };
    for (const Command& command : commands_) line("  " + command.name, command.help);
    if (!commands_.empty()) out += "\nEach command has a --help of its own.\n\n";
    if (!examples_.empty()) out += "Examples:\n";
    for (const auto& [command, about] : examples_) {
        out += "  " + command + "\n";
        append_wrapped(out += "      ", about, 6, 6);
    }
    if (!examples_.empty()) out += '\n';
    if (argument_) line("  " + argument_->placeholder, argument_->help);
    for (const auto& row : rows_)
        line(shown_name(row),
             row.help + (row.shown_default.empty() ? "" : " (default " + row.shown_default + ")"));
    line("  --config FILE", "YAML file with the same names; the command line wins");
    line("  --version", "print the version");
    line("  --help", "print this");
    return out;
}

}  // namespace net
