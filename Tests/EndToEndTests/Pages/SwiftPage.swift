// The Swift blocks of a page, type-checked against the modules of this build.
//
// Used by `PageTests`. A block is a whole file. One that begins with a comment such as
// `// Sources/Notes/main.swift` belongs to a module with the other files of its folder. SwiftPM
// evaluates manifests; a block that begins with a dot is a piece of one.

import CumulusTesting
import Foundation
import Testing

struct SwiftPage {
    private let page: Page
    private let folder: TestFolder

    init(_ page: Page) throws {
        self.page = page
        folder = try TestFolder()
    }

    private var blocks: [Page.Block] {
        page.blocks.filter { $0.language == "swift" && $0.mark == nil }
    }

    // MARK: Modules

    struct Module {
        let name: String
        var files: [String]
    }

    /// The modules in the order of the page; their files are written into the folder.
    func modules() throws -> [Module] {
        var modules: [Module] = []
        for block in blocks where !block.text.hasPrefix(".") && !SwiftPage.isManifest(block) {
            let named = block.text.prefixMatch(of: /\/\/ (?:Sources|Tests)\/(\w+)\/(\w+\.swift)\n/)
            let name = named.map { String($0.output.1) } ?? "Block\(block.line)"
            let place = "\(folder.path)/\(name)"
            let file = "\(place)/\(named.map { String($0.output.2) } ?? "Block.swift")"
            try FileManager.default.createDirectory(
                atPath: place,
                withIntermediateDirectories: true
            )
            try block.text.write(toFile: file, atomically: true, encoding: .utf8)
            if let index = modules.firstIndex(where: { $0.name == name }) {
                modules[index].files.append(file)
            } else {
                modules.append(Module(name: name, files: [file]))
            }
        }
        return modules
    }

    /// Type-checks a module, and returns what the compiler says of it; empty: it has no complaint.
    ///
    /// Later modules may import it.
    func complaint(of module: Module) async throws -> String {
        var words = ["-swift-version", "6", "-module-name", module.name, "-I", folder.path]
        if !module.files.contains(where: { $0.hasSuffix("/main.swift") }) {
            words.append("-parse-as-library")
        }
        words += ["-enable-upcoming-feature", "MemberImportVisibility"]
        words += SwiftPage.search + module.files
        let complaint = try await run(["swiftc", "-typecheck"] + words).errors
        guard complaint.isEmpty, isImported(module.name) else { return complaint }
        let interface = "\(folder.path)/\(module.name).swiftmodule"
        let emit = ["swiftc", "-emit-module", "-emit-module-path", interface]
        return try await run(emit + words).errors
    }

    private func isImported(_ name: String) -> Bool {
        blocks.contains { $0.text.contains("import \(name)\n") }
    }

    /// Where the compiler finds the modules of this build, and what they are made of.
    private static let search: [String] = {
        let program = (try? ChildProcess.builtProgram("cumulusd")) ?? ""
        let build = URL(filePath: program).deletingLastPathComponent()
        var words = ["-I", build.appending(path: "Modules").path]
        let folders = (try? FileManager.default.contentsOfDirectory(atPath: build.path)) ?? []
        for folder in folders.sorted() where folder.hasSuffix(".build") {
            let map = build.appending(path: "\(folder)/module.modulemap").path
            if FileManager.default.fileExists(atPath: map) {
                words += ["-Xcc", "-fmodule-map-file=\(map)"]
            }
        }
        for library in ["CPostgres", "CProtobufC", "CRocksDB", "CXXHash", "CZstd"] {
            words += ["-I", Checkout.file("Sources/\(library)").path]
        }
        for place in headers(beside: build) { words += ["-I", place] }
        return words
    }()

    /// The folders in which packages keep the C modules that they describe themselves.
    private static func headers(beside build: URL) -> [String] {
        let files = FileManager.default
        func names(in folder: URL) -> [String] {
            ((try? files.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
        }
        let checkouts = build.resolvingSymlinksInPath().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "checkouts")
        return names(in: checkouts).flatMap { package in
            let sources = checkouts.appending(path: "\(package)/Sources")
            return names(in: sources).map { sources.appending(path: "\($0)/include").path }
                .filter { files.fileExists(atPath: "\($0)/module.modulemap") }
        }
    }

    // MARK: Manifests

    static func isManifest(_ block: Page.Block) -> Bool {
        block.text.hasPrefix("// swift-tools-version")
    }

    var manifests: [Page.Block] { blocks.filter(SwiftPage.isManifest) }

    /// The pieces of manifests.
    var pieces: [Page.Block] { blocks.filter { $0.text.hasPrefix(".") } }

    /// Lets SwiftPM evaluate a manifest; returns it as JSON.
    func evaluate(_ manifest: Page.Block) async throws -> String {
        let place = "\(folder.path)/manifest\(manifest.line)"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        try manifest.text.write(
            toFile: "\(place)/Package.swift",
            atomically: true,
            encoding: .utf8
        )
        let run = try await run(["swift", "package", "--package-path", place, "dump-package"])
        return run.code == 0 ? run.output : ""
    }

    // MARK: Tools

    private func run(
        _ words: [String]
    ) async throws -> (code: Int32, output: String, errors: String) {
        let name = "\(folder.path)/\(UUID().uuidString)"
        let (output, errors) = ("\(name).out", "\(name).err")
        let process = try ChildProcess(
            ["/usr/bin/env"] + words,
            variables: ProcessInfo.processInfo.environment,
            output: output,
            errors: errors
        )
        let code: Int32 =
            switch try await process.waitForEnd(seconds: 100) {
            case .exit(let code): code
            case .signal(let signal): -signal
            }
        let text = try String(contentsOfFile: errors, encoding: .utf8)
        return (
            code, try String(contentsOfFile: output, encoding: .utf8),
            code != 0 && text.isEmpty ? "\(words[0]) ended with \(code)" : text
        )
    }
}
