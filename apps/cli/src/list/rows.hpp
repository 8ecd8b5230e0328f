#pragma once
#include <span>
#include <string>

#include "job/brief.hpp"
#include "text/terminal.hpp"

namespace cli {

struct TableStyle {
    Terminal terminal = {};
    bool namespaces = false;  ///< with a column for namespaces
    bool wide = false;        ///< with runtime, reason and message or first failure, and lines of any length
    bool heading = true;
};

/// Returns a table. On a terminal, columns without any value are left out, and lines end at its width.
Text list_table(std::span<const Brief> jobs, api::Time now, const TableStyle& style);

/// Returns `{"items": [...]}` with a list_row() for each.
api::Json list_document(std::span<const Brief> jobs);

/// Returns "trainjob.trainer.kubeflow.org/NAME" in lines, as kubectl does.
Text list_names(std::span<const Brief> jobs);

}  // namespace cli
