#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/process/option_types.hpp"

namespace net {

/// The command line of a program as a table:
///
///     net::Options options("signalbox-webhook", "Validates …");
///     options.add("listen", "HOST:PORT", listen, "where the API server calls");
///     options.add("leader-elect", leader_elect, "run only while holding the lease");
///     options.add_choice("created-condition", created, {{"always", A}, {"on-failure", B}}, "when …");
///
/// The values of the variables before parse() are the defaults, which --help shows. --help, --version and
/// --config FILE always exist. A value is given as `--name value` or `--name=value`. The configuration file
/// is YAML with the same names as keys; the command line overrides it. Of several values of one option
/// the last counts, unless the option is a list.
class Options {
public:
    Options(std::string program, std::string summary, std::string version);

    /// `target` must outlive the Options.
    template <class T>
    void add(std::string name, std::string placeholder, T& target, std::string help) {
        add_row(row_of(std::move(name), std::move(placeholder), target, std::move(help)));
    }
    /// An option whose text is a list with commas. It may be given in parts (`--name a --name b,c`), and in
    /// the file as a YAML list.
    template <class T>
    void add_list(std::string name, std::string placeholder, T& target, std::string help) {
        Row row = row_of(std::move(name), std::move(placeholder), target, std::move(help));
        row.is_list = true;
        add_row(std::move(row));
    }
    /// A switch: `--name`, `--name=true`, `--name=false`. parse() sets `target`, which must outlive the
    /// Options.
    void add(std::string name, bool& target, std::string help);

    /// Adds `-f FILE` for `--filename FILE`. The option must have been added before.
    void shorten(std::string_view name, char letter);

    /// The one positional argument, among the options or after them. It is required.
    template <class T>
    void add_argument(std::string placeholder, T& target, std::string help) {
        argument_ = row_of("", std::move(placeholder), target, std::move(help));
    }

    /// Any number of positional arguments, none as well.
    void add_arguments(std::string placeholder, std::vector<std::string>& target, std::string help) {
        add_argument(std::move(placeholder), target, std::move(help));
        argument_->is_list = true;
    }

    /// Shows in --help a command line and what it does.
    void add_example(std::string command, std::string about);

    /// Lists a command in --help: a word in place of the options that selects another program. `argument` is
    /// the placeholder of the command's positional argument, if it has one.
    void add_command(std::string name, std::string help, std::string argument = "");

    /// An option with a fixed set of words.
    template <class T>
    struct Choice {
        std::string_view word;
        T value;
    };
    template <class T>
    void add_choice(std::string name, T& target, std::vector<Choice<T>> choices, std::string help) {
        std::vector<std::string> words;
        std::string shown;
        for (const auto& choice : choices) {
            words.emplace_back(choice.word);
            if (choice.value == target) shown = choice.word;
        }
        auto read = [&target, choices = std::move(choices), words](std::string_view text) -> api::Result<> {
            for (const auto& choice : choices) {
                if (choice.word == text) {
                    target = choice.value;
                    return {};
                }
            }
            return not_one_of(words);
        };
        add_row({.name = std::move(name),
                 .placeholder = joined(words),
                 .help = std::move(help),
                 .shown_default = std::move(shown),
                 .read = std::move(read)});
    }

    /// Sets the variables. Returns a text for --help and --version: the caller prints it and exits with
    /// status 0. Errors name the option, the value and what is allowed; the caller exits with status 2.
    api::Result<std::optional<std::string>> parse(std::span<const char* const> arguments);

    /// An option, for completion in shells.
    struct Described {
        std::string name = {};
        char letter = 0;               ///< 0: it has none
        std::string placeholder = {};  ///< of its value: "FILE", or its words as "a|b"; empty: a switch
        std::string help = {};
    };
    std::vector<Described> described() const;

    /// Returns whether the command line or the file set this option.
    bool given(std::string_view name) const;

    const std::string& program() const { return program_; }
    std::string help() const;

private:
    struct Command {
        std::string name = {};
        std::string help = {};
        std::string argument = {};
    };
    struct Row {
        std::string name = {};
        char letter = 0;
        std::string placeholder = {};  ///< empty: a switch
        std::string help = {};
        std::string shown_default = {};
        std::function<api::Result<>(std::string_view)> read = {};
        bool is_list = false;
        bool given = false;
    };

    template <class T>
    static Row row_of(std::string name, std::string placeholder, T& target, std::string help) {
        return {.name = std::move(name),
                .placeholder = std::move(placeholder),
                .help = std::move(help),
                .shown_default = show_option(target),
                .read = [&target](std::string_view text) { return read_option(text, target); }};
    }
    /// The option that an argument names, and the value in the same argument.
    struct Named {
        Row* row = nullptr;  ///< nullptr: --config
        std::optional<std::string_view> text = {};
    };
    api::Result<Named> read_argument(std::string_view argument);
    api::Error unexpected(std::string_view argument) const;
    static std::string usage(const std::string& program, const std::string& argument);
    static api::Error not_one_of(const std::vector<std::string>& words);
    static std::string joined(const std::vector<std::string>& words);
    void add_row(Row row);
    Row* find(std::string_view name);
    static std::string shown_name(const Row& row);
    api::Error unknown(std::string_view name, const std::string& dashes) const;
    api::Result<> read_config(const std::string& file);

    std::string program_;
    std::string summary_;
    std::string version_;
    std::vector<Row> rows_ = {};
    std::vector<Command> commands_ = {};
    std::vector<std::pair<std::string, std::string>> examples_ = {};
    std::optional<Row> argument_ = {};
};

}  // namespace net
