// Holds the imports of every source file to the layers of the house.

import Testing

@Suite struct ImportTests {
    @Test func everySourceFileObeysTheLayers() throws {
        let sources = try SourceTree.sources()
        #expect(!sources.isEmpty)
        for file in sources {
            let wrong = ImportRules.violations(target: file.target, text: file.text)
            #expect(wrong.isEmpty, "\(file.path): \(wrong.joined(separator: "; "))")
        }
    }

    @Test(arguments: [
        ("CumulusModel", "import Foundation"),
        ("CumulusModel", "import Synchronization"),
        ("CumulusStorage", "import CumulusOperations"),
        ("CumulusOperations", "import NIOCore"),
        ("CumulusNode", "import CRocksDB"),
        ("CumulusNode", "import NIOPosix"),
        ("CumulusCLI", "import CumulusNode"),
        ("CumulusTerminal", "import CumulusCLI"),
        ("Cumulus", "import CCumulusWire"),
        ("Cumulus", "import CumulusRequests"),
        ("CumulusWire", "import CCumulusWire"),
        ("CumulusUtilities", "import CumulusModel"),
    ])
    func aForbiddenImportIsReported(target: String, text: String) {
        #expect(ImportRules.violations(target: target, text: text).count == 1)
    }

    @Test(arguments: [
        "@preconcurrency import NIOPosix",
        "@preconcurrency\nimport NIOPosix",
        "@_spi(Testing) package import NIOPosix",
        "public import NIOPosix",
        "import struct NIOPosix.ClientBootstrap",
        "package import class NIOPosix.MultiThreadedEventLoopGroup",
        "import `NIOPosix`",
        "import  NIOPosix // for sockets",
        "#if canImport(NIOPosix)\n    import NIOPosix\n#endif",
        "import CumulusModel; import NIOPosix",
        "let text = \"a \\(name(\"b\"))\"\nimport NIOPosix",
    ])
    func noSpellingHidesAnImport(text: String) {
        let wrong = ImportRules.violations(target: "CumulusNode", text: text)
        #expect(wrong == ["CumulusNode must not import NIOPosix"])
    }

    @Test(arguments: [
        "// import NIOPosix",
        "/* import NIOPosix\nimport NIOPosix */",
        "#if canImport(NIOPosix)\n#endif",
        "let help = \"\"\"\n    \\\"\"\" import\n    import NIOPosix\n    \"\"\"",
        "let raw = #\"\"\"\n\"\"\"\nimport NIOPosix\n\"\"\"#",
        "case .import: important(NIOPosix)",
    ])
    func whatOnlyLooksLikeAnImportIsNone(text: String) {
        #expect(ImportRules.imports(in: text).isEmpty)
    }

    /// Where C is at home.
    private static let rooms = [
        ("RocksDBStorage", "CRocksDB"), ("PostgresStorage", "CPostgres"),
        ("CumulusRequests", "CCumulusWire"),
    ]

    @Test(arguments: ["public ", "package ", "@_exported ", "@_exported public "])
    func cStaysInItsRoom(words: String) {
        for (target, module) in Self.rooms {
            let wrong = ImportRules.violations(target: target, text: "\(words)import \(module)")
            #expect(wrong.contains("\(module) must be an internal import"))
        }
    }

    @Test(arguments: ["", "internal ", "private ", "@preconcurrency "])
    func cInItsRoomIsAllowed(words: String) {
        for (target, module) in Self.rooms {
            let text = "\(words)import \(module)"
            #expect(ImportRules.violations(target: target, text: text).isEmpty)
        }
    }

    @Test func whatStandsInForCloudKitBringsFoundationButNotTheClient() {
        let wrong = ["Cumulus", "CumulusModel"].flatMap { module in
            ImportRules.violations(
                target: "CumulusCloudKit",
                text: "@_exported public import \(module)"
            )
        }
        #expect(wrong.count == 2)
        let allowed = ["CumulusFoundation", "Foundation"].flatMap { module in
            ImportRules.violations(
                target: "CumulusCloudKit",
                text: "@_exported public import \(module)"
            )
        }
        #expect(allowed.isEmpty)
    }

    @Test func onlyTheClientReexportsAndOnlyTheModel() {
        let model = "@_exported public import CumulusModel"
        #expect(ImportRules.violations(target: "Cumulus", text: model).isEmpty)
        let node = ImportRules.violations(target: "CumulusNode", text: model)
        #expect(node == ["CumulusNode must not re-export CumulusModel"])
        let wire = "@_exported public import CumulusWire"
        let client = ImportRules.violations(target: "Cumulus", text: wire)
        #expect(client == ["Cumulus must not re-export CumulusWire"])
    }
}
