// How scripts hang together: what a module imports is exported by another one, and is used.
//
// Called by `WebTests`. A module that names something else does not load in a browser at all.

enum WebModules {
    /// The violations in the imports of some modules.
    static func violations(_ files: [SourceFile]) -> [String] {
        let modules = Dictionary(grouping: files, by: \.name)
        return files.flatMap { file in
            let words = words(of: WebCode.of(file.text))
            return imports(of: file.text).flatMap { path, names in
                let name = String(path.split(separator: "/").last ?? "")
                guard let module = modules[name]?.first else {
                    return ["\(file.name) imports from \(path), which is no file"]
                }
                let exported = exports(of: module.text)
                return names.filter { !exported.contains($0) }
                    .map { "\(file.name): \(name) does not export \($0)" }
                    + names.filter { words[$0] == 1 }
                    .map { "\(file.name) imports \($0) and does not use it" }
            }
        }
    }

    private static func imports(of text: String) -> [(path: String, names: [String])] {
        text.matches(of: /import\s*\{([^}]*)\}\s*from\s*"([^"]*)"/).map { match in
            let names = match.output.1.split { $0 == "," || $0.isWhitespace }.map(String.init)
            return (String(match.output.2), names)
        }
    }

    private static func exports(of text: String) -> Set<String> {
        let pattern = /export\s+(?:async\s+)?(?:function|const|let|class)\s+(\w+)/
        return Set(text.matches(of: pattern).map { String($0.output.1) })
    }

    private static func words(of code: String) -> [String: Int] {
        code.split { !($0.isLetter || $0.isNumber || $0 == "_" || $0 == "$") }
            .reduce(into: [:]) { counts, word in counts[String(word), default: 0] += 1 }
    }
}
