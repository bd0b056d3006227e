// The declarations of the built module, as the compiler's own tool tells them.
//
// Called by `DeclarationTests`. The tool reads the module that the running tests were linked with,
// from the folder beside them; that takes about a second.
//
// Folder: declarations, compared with Apple's documentation. Read `DeclarationTests`, then
// `DeclarationList` and `Interface`.

import Foundation
import Testing

struct Interface {
    /// The declarations of each type, in the form of `DeclarationList`.
    private(set) var types: [String: [String]] = [:]
    /// What each type conforms to, by itself or through its class or another protocol.
    private(set) var conformances: [String: Set<String>] = [:]

    /// What the tool writes of a module.
    fileprivate struct Graph: Decodable {
        struct Symbol: Decodable {
            struct Name: Decodable { var precise: String }
            struct Fragment: Decodable { var spelling: String }
            var identifier: Name
            var pathComponents: [String]
            var declarationFragments: [Fragment]?

            var owner: String { pathComponents.dropLast().joined(separator: ".") }
            var path: String { pathComponents.joined(separator: ".") }
            var text: String {
                let parts = (declarationFragments ?? []).map(\.spelling)
                return parts.joined().split(whereSeparator: \.isWhitespace).joined(separator: " ")
            }
        }

        struct Relationship: Decodable {
            var kind: String
            var source: String
            var target: String
            /// The name of a type of another module.
            var targetFallback: String?
        }

        var symbols: [Symbol]
        var relationships: [Relationship]
    }

    /// The interface of a module that the tests were linked with.
    init(ofModule name: String) throws {
        let data = try Data(contentsOf: try Interface.extract(name))
        let graph = try JSONDecoder().decode(Graph.self, from: data)
        let names = NestedNames(graph)
        for symbol in graph.symbols where !symbol.text.isEmpty {
            let owner = symbol.owner.isEmpty ? DeclarationList.module : names.inside(symbol.owner)
            let text = names.inside(DeclarationList.normal(symbol.text))
            types[owner, default: []].append(text)
        }
        var paths: [String: String] = [:]
        for symbol in graph.symbols { paths[symbol.identifier.precise] = symbol.path }
        for relation in graph.relationships where relation.kind == "conformsTo" {
            guard let path = paths[relation.source] else { continue }
            let target = paths[relation.target] ?? relation.targetFallback ?? relation.target
            let name = target.split(separator: ".").last.map(String.init) ?? target
            conformances[names.inside(path), default: []].insert(name)
        }
    }

    /// An interface of these declarations.
    init(types: [String: [String]], conformances: [String: Set<String>] = [:]) {
        self.types = types
        self.conformances = conformances
    }

    // MARK: The tool

    /// The file with the symbols of a module.
    private static func extract(_ module: String) throws -> URL {
        let products = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent()
        let output = URL(filePath: NSTemporaryDirectory()).appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: output, withIntermediateDirectories: true)
        let tool = Process()
        tool.executableURL = URL(filePath: "/usr/bin/env")
        tool.arguments =
            [
                "swift-symbolgraph-extract", "-module-name", module, "-target",
                products.deletingLastPathComponent().lastPathComponent,
                "-minimum-access-level", "public", "-skip-synthesized-members",
                "-output-dir", output.path, "-I", products.appending(path: "Modules").path,
            ] + searchPaths(products)
        try tool.run()
        tool.waitUntilExit()
        try #require(tool.terminationStatus == 0, "swift-symbolgraph-extract could not read it")
        return output.appending(path: "\(module).symbols.json")
    }

    /// Where the modules in C stand that the module's dependencies import.
    private static func searchPaths(_ products: URL) -> [String] {
        let scratch = products.deletingLastPathComponent().deletingLastPathComponent()
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let packages = children(of: scratch.appending(path: "checkouts")) + [root]
        let folders = packages.flatMap { children(of: $0.appending(path: "Sources")) }
            .flatMap { [$0, $0.appending(path: "include")] }
            .filter { isThere($0.appending(path: "module.modulemap")) }
        let made = children(of: products).map { $0.appending(path: "module.modulemap") }
            .filter { $0.deletingLastPathComponent().pathExtension == "build" && isThere($0) }
        return folders.flatMap { ["-I", $0.path] }
            + made.flatMap { ["-Xcc", "-fmodule-map-file=\($0.path)"] }
    }

    private static func children(of folder: URL) -> [URL] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path)
        return (names ?? []).sorted().map { folder.appending(path: $0) }
    }

    private static func isThere(_ file: URL) -> Bool {
        FileManager.default.fileExists(atPath: file.path)
    }
}

/// The names that apps use of types that stand at the top level here, such as `CKRecord.ID` of
/// `CKRecordID`.
private struct NestedNames {
    private var names: [String: String] = [:]

    init(_ graph: Interface.Graph) {
        var all: [String: [String]] = [:]
        for symbol in graph.symbols where !symbol.owner.isEmpty {
            guard let match = symbol.text.firstMatch(of: /^typealias \w+ = (CK\w+)$/) else {
                continue
            }
            all[String(match.output.1), default: []].append(symbol.path)
        }
        for (name, nested) in all {
            let same = nested.first { $0.replacing(".", with: "") == name }
            names[name] = same ?? nested.min()
        }
    }

    /// The text with the names that apps use.
    func inside(_ text: String) -> String {
        text.replacing(/CK\w+/) { match in
            let name = String(match.output)
            return names[name] ?? name
        }
    }
}
