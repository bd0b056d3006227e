// The manifest as SwiftPM reads it: the targets and packages on which a product stands.
//
// Made by `ClientGraphTests`. SwiftPM evaluates `Package.swift` for it, which takes about a second.

import Foundation
import Testing

struct PackageGraph {
    /// What a target asks for, and the traits of which one must be on for it.
    struct Edge {
        /// The name of a target; of a product of another package, that package's name.
        var name: String
        var isPackage: Bool
        /// Empty means always.
        var traits: Set<String>

        func counts(_ enabled: Set<String>) -> Bool {
            traits.isEmpty || !traits.isDisjoint(with: enabled)
        }
    }

    struct Target {
        var isSystemLibrary: Bool
        var hasUnsafeFlags: Bool
        var edges: [Edge]
    }

    private(set) var targets: [String: Target] = [:]
    /// The targets of each product.
    private(set) var products: [String: [String]] = [:]
    /// The packages that the manifest asks for, by their identities.
    private(set) var packages: Set<String> = []

    /// The manifest of this tree.
    init() throws {
        let object = try JSONSerialization.jsonObject(with: PackageGraph.dump())
        let manifest = try #require(object as? [String: Any])
        for product in try #require(manifest["products"] as? [[String: Any]]) {
            let name = try #require(product["name"] as? String)
            products[name] = try #require(product["targets"] as? [String])
        }
        for package in try #require(manifest["dependencies"] as? [[String: [[String: Any]]]]) {
            packages.insert(try #require(package["sourceControl"]?.first?["identity"] as? String))
        }
        for target in try #require(manifest["targets"] as? [[String: Any]]) {
            let name = try #require(target["name"] as? String)
            let settings = target["settings"] as? [[String: Any]] ?? []
            targets[name] = Target(
                isSystemLibrary: target["type"] as? String == "system",
                hasUnsafeFlags: settings.contains {
                    ($0["kind"] as? [String: Any])?["unsafeFlags"] != nil
                },
                edges: try #require(target["dependencies"] as? [[String: [Any]]])
                    .map(PackageGraph.edge)
            )
        }
    }

    /// The parts of a dependency are its name, its package if it is a product, and its condition.
    private static func edge(_ dependency: [String: [Any]]) throws -> Edge {
        let (kind, parts) = try #require(dependency.first)
        let condition = parts.last as? [String: Any]
        return Edge(
            name: try #require(parts[kind == "product" ? 1 : 0] as? String),
            isPackage: kind == "product",
            traits: Set(condition?["traits"] as? [String] ?? [])
        )
    }

    private static func dump() throws -> Data {
        let scratch = URL(filePath: NSTemporaryDirectory()).appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: scratch) }
        let output = Pipe()
        let tool = Process()
        tool.executableURL = URL(filePath: "/usr/bin/env")
        // The scratch folder of the build is locked as long as SwiftPM runs the tests.
        tool.arguments = [
            "swift", "package", "--package-path", SourceTree.root.path, "--scratch-path",
            scratch.path, "dump-package",
        ]
        tool.standardOutput = output
        try tool.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        tool.waitUntilExit()
        try #require(tool.terminationStatus == 0, "swift package dump-package failed")
        return text
    }

    /// The targets that a product consists of and stands on, and the packages that these name.
    func reached(
        from product: String,
        traits: Set<String>
    ) throws -> (targets: Set<String>, packages: Set<String>) {
        var found: Set<String> = []
        var packages: Set<String> = []
        var open = try #require(products[product])
        while let name = open.popLast() {
            guard found.insert(name).inserted else { continue }
            for edge in try #require(targets[name], "\(name) is missing").edges {
                guard edge.counts(traits) else { continue }
                if edge.isPackage { packages.insert(edge.name) } else { open.append(edge.name) }
            }
        }
        return (found, packages)
    }

    /// The system libraries that a product links.
    func systemLibraries(of product: String, traits: Set<String>) throws -> Set<String> {
        try reached(from: product, traits: traits).targets
            .filter { targets[$0]?.isSystemLibrary == true }
    }
}
