#pragma once
#include "api/field_error.hpp"
#include "api/json.hpp"
#include "runtime/gates.hpp"

namespace runtime {

/// Fields of a runtime's `spec` that are there for the first time or with another value than in `old_spec`
/// (null on CREATE), although the gate that each of them needs is off. What is stored stays as it is, and may
/// be removed.
api::FieldErrors gated_runtime_fields(const api::Json& spec, const api::Json& old_spec, const Gates& gates);

}  // namespace runtime
