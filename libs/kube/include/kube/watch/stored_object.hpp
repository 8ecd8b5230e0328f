#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace kube {

/// The parts of an object that a store keeps beside its index, in one allocation. With hundreds of thousands
/// of objects, many small allocations would cost more than the bytes.
class StoredObject {
public:
    StoredObject() = default;
    StoredObject(std::string_view uid, std::string_view resource_version, std::string_view bytes)
        : uid_size_(static_cast<std::uint32_t>(uid.size())),
          version_size_(static_cast<std::uint32_t>(resource_version.size())),
          bytes_size_(static_cast<std::uint32_t>(bytes.size())),
          text_(std::make_unique_for_overwrite<char[]>(uid.size() + resource_version.size() + bytes.size())) {
        char* at = text_.get();
        for (const std::string_view part : {uid, resource_version, bytes}) at = append(at, part);
    }

    std::string_view uid() const { return {text_.get(), uid_size_}; }
    std::string_view resource_version() const { return {text_.get() + uid_size_, version_size_}; }
    /// Compact JSON without managedFields, as the store's transform left it.
    std::string_view bytes() const { return {text_.get() + uid_size_ + version_size_, bytes_size_}; }

private:
    static char* append(char* at, std::string_view part) {
        if (!part.empty()) std::memcpy(at, part.data(), part.size());
        return at + part.size();
    }

    std::uint32_t uid_size_ = 0;
    std::uint32_t version_size_ = 0;
    std::uint32_t bytes_size_ = 0;
    std::unique_ptr<char[]> text_ = {};
};

}  // namespace kube
