// Holds conditions of the compiler to what they ask: a platform is asked for by its name.
//
// A package may bring a module of any name, even an empty one that is called like a module of
// Apple's. `canImport` then says that it is there, on each platform.

import Testing

@Suite struct PlatformTests {
    /// The violations in a file's conditions.
    private static func violations(_ text: String) -> [String] {
        // To take the comments out of all files takes most of a minute; few files ask for a module.
        guard text.contains("canImport") else { return [] }
        let code = code(of: text)
        return code.matches(of: /(!?)\s*canImport\s*\(\s*(\w+)\s*\)/).compactMap { match in
            let (isNegated, module) = (!match.output.1.isEmpty, String(match.output.2))
            if isNegated { return "the absence of \(module) says nothing of the platform" }
            let isUsed = code.contains("import \(module)") || code.contains("\(module).")
            return isUsed ? nil : "\(module) is asked for and not used; ask for the platform"
        }
    }

    @Test func noModuleStandsForAPlatform() throws {
        for folder in ["Sources", "Tests"] {
            for file in try SourceTree.sources(in: folder) {
                #expect(Self.violations(file.text) == [], "\(file.path)")
            }
        }
    }

    @Test(arguments: [
        "#if !canImport(ObjectiveC)\nclass CKRecord {}\n#endif",
        "#if canImport(Darwin)\nlet time = status.st_mtimespec\n#endif",
        "#if os(Linux) || ! canImport( Darwin )\nlet time = status.st_mtim\n#endif",
    ])
    func aModuleInPlaceOfAPlatformIsReported(text: String) {
        #expect(Self.violations(text).count == 1)
    }

    @Test(arguments: [
        "#if os(Linux)\nclass CKRecord {}\n#endif",
        "#if canImport(Glibc)\nimport Glibc\n#endif",
        "#if canImport(Glibc)\n_ = Glibc.kill(pid, signal)\n#endif",
        "// #if !canImport(ObjectiveC)",
    ])
    func aModuleThatIsUsedMayBeAskedFor(text: String) {
        #expect(Self.violations(text) == [])
    }
}
