#pragma once
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace test {

/// A temporary directory, removed with its contents after the test.
class TemporaryDirectory {
public:
    TemporaryDirectory() {
        char name[] = "/tmp/signalbox-test-XXXXXX";
        if (!::mkdtemp(name)) throw std::runtime_error("cannot make a temporary directory");
        path = name;
    }
    ~TemporaryDirectory() { std::filesystem::remove_all(path); }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

    /// Writes a file and returns its path.
    std::string write(const std::string& name, const std::string& text) const {
        const std::string file = path + "/" + name;
        std::ofstream(file) << text;
        return file;
    }
    /// Returns `text` with names of files replaced by their paths in the directory.
    std::string bare(std::string text) const {
        for (auto at = text.find(path + "/"); at != text.npos; at = text.find(path + "/", at))
            text.erase(at, path.size() + 1);
        return text;
    }

    std::string path;
};

}  // namespace test
