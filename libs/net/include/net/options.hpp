#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/option_types.hpp"

namespace net {

/// The command line of a program as a table:
///
///     net::Options options("signalbox-webhook", "Validates …");
///     options.add("listen", "HOST:PORT", listen, "where the API server calls");
///     options.add("leader-elect", leader_elect, "run only while holding the lease");      //
///     --leader-elect[=bool] options.add_choice("created-condition", created, {{"always", A}, {"on-failure",
///     B}}, "when …");
///
/// What the variables hold before parse() are the defaults that --help shows. --help, --version and --config
/// FILE are there by themselves. Values come as `--name value` or `--name=value`; the file is YAML with the
/// same names as keys, and the command line wins over it. Of several values for one option the last one wins.
class Options {
public:
    Options(std::string program, std::string summary, std::string version);

    /// `target` must outlive the Options.
    template <class T>
    void add(std::string name, std::string placeholder, T& target, std::string help) {
        add_row(row_of(std::move(name), std::move(placeholder), target, std::move(help)));
    }
    /// Its text is a list with commas, which may come in parts (`--name a --name b,c`), in the file as a YAML
    /// list.
    template <class T>
    void add_list(std::string name, std::string placeholder, T& target, std::string help) {
        Row row = row_of(std::move(name), std::move(placeholder), target, std::move(help));
        row.is_list = true;
        add_row(std::move(row));
    }
    /// A switch: `--name`, `--name=true`, `--name=false`.
    void add(std::string name, bool& target, std::string help);

    /// `-f FILE` for `--filename FILE`. The option is there already.
    void shorten(std::string_view name, char letter);

    /// The one value that stands without a name, among the options or after them; it must be there.
    template <class T>
    void add_argument(std::string placeholder, T& target, std::string help) {
        argument_ = row_of("", std::move(placeholder), target, std::move(help));
    }

    /// A word that may stand in place of options and makes another program of this one; for --help only, as
    /// is the placeholder of its argument, if it has one.
    void add_command(std::string name, std::string help, std::string argument = "");

    /// One of a few words.
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

    /// Sets the variables. A text (--help, --version) is to be printed, and the program to end well. Errors
    /// name the option, the value and what is allowed; bad usage, exit status 2.
    api::Result<std::optional<std::string>> parse(std::span<const char* const> arguments);

    /// Whether the command line or the file set it.
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
    /// What an argument names, and the value that comes with it.
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
    std::optional<Row> argument_ = {};
};

}  // namespace net
