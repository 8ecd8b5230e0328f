#pragma once
#include "api/json.hpp"

/// Returns an object of one of our kinds as the API server sends it to validating webhooks, by the schema of
/// its CRD: without unknown fields and nulls, with defaults. Fields of a wrong type stay unchanged. Throws
/// for other kinds.
api::Json stored_form(const api::Json& object);
