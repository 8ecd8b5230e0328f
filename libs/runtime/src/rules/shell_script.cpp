#include "rules/shell_script.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

namespace runtime {
namespace {

constexpr std::size_t unreadable = std::string_view::npos;

// Commands of the shell itself, which start no program.
constexpr std::string_view builtins[] = {
    ":",     ".",      "[",    "alias",  "bg",       "break", "cd",    "command", "continue", "echo",
    "eval",  "exec",   "exit", "export", "false",    "fg",    "hash",  "getopts", "jobs",     "kill",
    "local", "printf", "pwd",  "read",   "readonly", "set",   "shift", "return",  "test",     "times",
    "trap",  "true",   "type", "ulimit", "umask",    "unset", "wait",  "unalias"};
// Words before or after a command that are no part of it.
constexpr std::string_view reserved[] = {"if", "then", "else", "elif", "fi", "while", "until",
                                         "do", "done", "esac", "{",    "}",  "!"};
// Words that begin a list of words.
constexpr std::string_view lists[] = {"for", "case"};
// Of the builtins, those that run another script, which may replace the shell.
constexpr std::string_view script_runners[] = {".", "eval"};
// SIGTERM, as an operand of `trap`.
constexpr std::string_view term_names[] = {"TERM", "SIGTERM", "15"};

bool is_among(const auto& words, std::string_view word) {
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

bool is_assignment(std::string_view word) {
    const std::string_view name = word.substr(0, word.find('='));
    return name.size() < word.size() && !name.empty() &&
           std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
           std::all_of(name.begin(), name.end(),
                       [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

bool is_number(std::string_view word) {
    return std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

// Returns what ends the quote or substitution that begins at text[at]; 0: none begins there.
char closer_at(std::string_view text, std::size_t at) {
    const char c = text[at];
    if (c == '\'' || c == '"' || c == '`') return c;
    if (c != '$' || at + 1 == text.size()) return '\0';
    return text[at + 1] == '(' ? ')' : text[at + 1] == '{' ? '}' : '\0';
}

// Returns the position after the quote or substitution that begins at text[at]. Not recursive, since a
// TrainJob can nest as many as it has letters.
std::size_t after_nested(std::string_view text, std::size_t at) {
    std::vector<char> closers = {closer_at(text, at)};
    at += text[at] == '$' ? 2 : 1;
    while (!closers.empty()) {
        if (at >= text.size()) return unreadable;
        const char c = text[at], last = closers.back();
        const char inner = last == '\'' ? '\0' : closer_at(text, at);
        if (c == '\\' && last != '\'') {
            at += 2;
        } else if (c == last) {
            closers.pop_back();
            ++at;
        } else if (inner != '\0' && !(inner == '\'' && last == '"')) {
            closers.push_back(inner);
            at += c == '$' ? 2 : 1;
        } else {
            if (c == '(' && last == ')') closers.push_back(')');
            ++at;
        }
    }
    return at;
}

struct Command {
    std::string name = {};
    std::size_t words = 0;     // with the name
    bool is_followed = false;  // by the shell: it is in a pipe, or in the background
    bool in_subshell = false;  // the shell waits for it
    bool sets_action = false;  // of `trap`

    bool runs_program() const { return !is_among(builtins, name) || (name == "exec" && words > 1); }
    bool replaces_shell() const { return name == "exec" && words > 1 && !is_followed && !in_subshell; }
};

// Goes through the simple commands of a script, and keeps no more than the last one that runs a program or a
// script: a TrainJob can hold a million.
class Reader {
public:
    explicit Reader(std::string_view text) : text_(text) {}

    // Returns whether the script could be read.
    bool read() {
        while (at_ < text_.size())
            if (!step()) return false;
        end_command();
        return true;
    }
    const Command& last() const { return last_; }
    bool handles_term() const { return handles_term_; }
    bool starts_program() const { return starts_program_; }

private:
    bool step() {
        const char c = text_[at_];
        if (c == ' ' || c == '\t') {
            ++at_;
        } else if (text_.substr(at_).starts_with("\\\n")) {
            at_ += 2;
        } else if (c == '#') {
            at_ = std::min(text_.find('\n', at_), text_.size());
        } else if (c == '\n') {
            ++at_;
            end_command();
            skip_documents();
        } else if (c == '<' || c == '>') {
            return redirect();
        } else if (c == ';' || c == '&' || c == '|') {
            separate(c);
        } else if (c == '(' || c == ')') {
            group(c);
        } else {
            std::string word;
            if (!read_word(word)) return false;
            add(std::move(word));
        }
        return true;
    }

    bool read_word(std::string& word) {
        constexpr std::string_view ends = " \t\n;&|()<>";
        while (at_ < text_.size() && ends.find(text_[at_]) == ends.npos) {
            std::size_t end = at_ + 1;
            const char closer = closer_at(text_, at_);
            if (closer != '\0') {
                end = after_nested(text_, at_);
                if (end == unreadable) return false;
                const bool is_quoted = closer == '\'' || closer == '"';
                word += is_quoted ? text_.substr(at_ + 1, end - at_ - 2) : text_.substr(at_, end - at_);
            } else if (text_[at_] != '\\') {
                word += text_[at_];
            } else if (end < text_.size()) {
                if (text_[end] != '\n') word += text_[end];
                ++end;
            }
            at_ = end;
        }
        return true;
    }

    void add(std::string word) {
        const bool is_file =
            at_ < text_.size() && (text_[at_] == '<' || text_[at_] == '>') && is_number(word);
        if (is_file) return;
        if (command_.name == "trap") return add_to_trap(word);
        if (word.empty()) return;
        if (command_.words == 0 && (is_among(reserved, word) || is_assignment(word))) return;
        if (command_.words++ == 0) command_.name = std::move(word);
    }

    // Reads a word of `trap ACTION SIGNAL...`. With an empty action the signal is ignored, and `-` takes
    // an earlier action away.
    void add_to_trap(std::string_view word) {
        if (word == "--") return;
        if (++command_.words == 2)
            command_.sets_action = !word.empty() && word != "-";
        else if (command_.sets_action && depth_ == 0 && is_among(term_names, word))
            handles_term_ = true;
    }

    // Reads `>file`, `2>&1`, `<<END` and so on.
    bool redirect() {
        const std::size_t begin = at_;
        while (at_ < text_.size() && (text_[at_] == '<' || text_[at_] == '>')) ++at_;
        const bool is_document = text_.substr(begin, at_ - begin) == "<<";
        const bool drops_tabs = is_document && at_ < text_.size() && text_[at_] == '-';
        if (drops_tabs || (at_ < text_.size() && (text_[at_] == '&' || text_[at_] == '|'))) ++at_;
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
        std::string target;
        if (!read_word(target)) return false;
        if (is_document) documents_.push_back({std::move(target), drops_tabs});
        return documents_.size() <= most_documents;
    }

    void separate(char c) {
        const bool is_double = at_ + 1 < text_.size() && text_[at_ + 1] == c;
        at_ += is_double ? 2 : 1;
        const bool is_pipe = c == '|' && !is_double;
        const bool goes_on = is_pipe || (c == '&' && !is_double);
        // What `{ exec python; } &` ends is the group.
        Command& ended = command_.words == 0 ? last_ : command_;
        ended.is_followed = ended.is_followed || goes_on;
        end_command();
        command_.is_followed = is_pipe;
    }

    void group(char c) {
        ++at_;
        // The name of a function, or a pattern of `case`.
        const bool is_name = c == '(' ? command_.words > 0 : depth_ == 0;
        if (is_name) command_ = Command();
        end_command();
        if (c == '(') ++depth_;
        if (c == ')' && depth_ > 0) --depth_;
    }

    // Skips the documents (`<<END`) of the line that has just ended.
    void skip_documents() {
        for (const Document& document : documents_)
            while (at_ < text_.size()) {
                const std::size_t end = std::min(text_.find('\n', at_), text_.size());
                std::string_view line = text_.substr(at_, end - at_);
                at_ = std::min(end + 1, text_.size());
                while (document.drops_tabs && line.starts_with('\t')) line.remove_prefix(1);
                if (line == document.end) break;
            }
        documents_.clear();
    }

    void end_command() {
        if (command_.words > 0 && !is_among(lists, command_.name)) {
            command_.in_subshell = depth_ > 0;
            starts_program_ = starts_program_ || command_.runs_program();
            // Others come after the program, or where `exec` has failed: `exec python train.py || exit 1`.
            if (command_.runs_program() || is_among(script_runners, command_.name))
                last_ = std::move(command_);
        }
        command_ = Command();
    }

    struct Document {
        std::string end = {};
        bool drops_tabs = false;
    };
    static constexpr std::size_t most_documents = 16;  // of a line

    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t depth_ = 0;
    Command command_ = {};  // that is read
    Command last_ = {};
    bool handles_term_ = false;
    bool starts_program_ = false;
    std::vector<Document> documents_ = {};
};

}  // namespace

bool keeps_signals(std::string_view script) {
    Reader reader(script);
    if (!reader.read()) return false;
    const Command& last = reader.last();
    const bool is_elsewhere = is_among(script_runners, last.name);
    return reader.starts_program() && !reader.handles_term() && !last.replaces_shell() && !is_elsewhere;
}

}  // namespace runtime
