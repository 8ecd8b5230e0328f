#include "stored_form.hpp"

#include <stdexcept>
#include <string>

#include "crd/crd.hpp"

api::Json stored_form(const api::Json& object) {
    const crd::StructuralSchema* crd = crd::find(object["kind"].as_string());
    if (!crd) throw std::runtime_error("no CRD of kind " + std::string(object["kind"].as_string()));
    api::Json form = object;
    crd->prune_and_default(form);
    return form;
}
