#include "check/summary.hpp"

#include <algorithm>

#include "api/json.hpp"

namespace cli {
namespace {

std::string counted(std::size_t number, const std::string& thing) {
    return std::to_string(number) + " " + thing + (number == 1 ? "" : "s");
}

std::string counts(std::size_t errors, std::size_t warnings) {
    return counted(errors, "error") + ", " + counted(warnings, "warning");
}

// Of several errors the first is enough: the text form has them all.
std::string why(const Verdict& verdict) {
    if (!verdict.answer.refusal) return "";
    const auto& causes = verdict.answer.refusal->causes;
    const auto& unknown = verdict.object->unknown_fields;
    if (!causes.empty()) return "; " + causes.front().field + ": " + causes.front().message;
    if (!unknown.empty()) return "; unknown field " + api::to_json(api::Json(unknown.front()));
    return "; " + verdict.answer.refusal->message;
}

}  // namespace

std::size_t errors(const Verdict& verdict) {
    if (!verdict.answer.refusal) return 0;
    const std::size_t causes = verdict.answer.refusal->causes.size();
    return std::max<std::size_t>(causes > 0 ? causes : verdict.object->unknown_fields.size(), 1);
}

std::string summary(std::span<const Verdict> verdicts) {
    std::string text;
    std::size_t refused = 0;
    std::size_t warned = 0;
    std::size_t all_errors = 0;
    std::size_t all_warnings = 0;
    for (const Verdict& verdict : verdicts) {
        const std::size_t warnings = verdict.answer.warnings.size();
        text += verdict.object->document->place() + ": " + verdict.object->name() + " is " +
                (verdict.answer.refusal ? "refused" : "allowed") + ": " + counts(errors(verdict), warnings) +
                why(verdict) + "\n";
        refused += verdict.answer.refusal ? 1 : 0;
        warned += !verdict.answer.refusal && warnings > 0 ? 1 : 0;
        all_errors += errors(verdict);
        all_warnings += warnings;
    }
    return text + counted(verdicts.size(), "object") + ": " + std::to_string(verdicts.size() - refused) +
           " allowed, " + std::to_string(warned) + " of them with warnings, " + std::to_string(refused) +
           " refused; " + counts(all_errors, all_warnings) + "\n";
}

}  // namespace cli
