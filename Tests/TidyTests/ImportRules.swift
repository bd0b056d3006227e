// The rules of imports: the layers of the house as one table, and the check of one file against it.
//
// Called by `ImportTests`. The build alone doesn't hold the layers: a module that happens to be
// built already can be imported without being a dependency, and a dependency is easily added.

import RegexBuilder

/// One import as it stands in a file.
struct Import: Equatable {
    var module: String
    /// The attributes and the access level in front of it.
    var words: [String]

    var isExported: Bool { words.contains("@_exported") }

    /// An import without an access level is internal, as the house settings say.
    var isInternal: Bool {
        !isExported && !words.contains("public") && !words.contains("package")
    }
}

enum ImportRules {
    /// The system's modules, for the targets that meet the outside world.
    private static let system: Set = ["Darwin", "Foundation", "Glibc", "Synchronization"]
    /// The same for the targets of `cumulusd` and `cumulus`: without the parts of Foundation that
    /// they can't afford.
    private static let essentials: Set = ["CumulusSystem", "Synchronization"]

    /// What the files of each target may import.
    ///
    /// A target that is missing here may not exist.
    static let allowed: [String: Set<String>] = [
        // Vocabulary and seams.
        "CumulusSystem": ["Dispatch", "Foundation", "FoundationEssentials", "Glibc", "Musl"],
        "CumulusModel": [],
        "CumulusAssets": ["CZstd", "Crypto", "CumulusModel"],
        "CumulusWire": ["CumulusAssets", "CumulusModel", "NIOCore", "Synchronization"],
        "CumulusRequests": ["CCumulusWire", "CumulusAssets", "CumulusModel", "CumulusWire"],
        "CumulusStorage": [
            "Crypto", "CumulusAssets", "CumulusModel", "CumulusSystem", "Swift", "Synchronization",
        ],
        // Core.
        "CumulusOperations": [
            "Crypto", "CryptoExtras", "CumulusAssets", "CumulusModel", "CumulusStorage",
            "Synchronization",
        ],
        "CumulusReplication": ["Crypto", "CumulusModel", "CumulusStorage"],
        // Shell and real I/O.
        "CumulusNode": essentials.union([
            "CXXHash", "CoreMetrics", "Crypto", "CumulusAssets", "CumulusModel",
            "CumulusOperations", "CumulusReplication", "CumulusRequests", "CumulusStorage",
            "CumulusWire", "Logging",
        ]),
        "CumulusTransport": essentials.union([
            "Crypto", "CumulusModel", "CumulusWire", "NIOCore", "NIOPosix", "NIOSSL", "NIOTLS",
        ]),
        "RocksDBStorage": essentials.union([
            "CRocksDB", "CXXHash", "CumulusModel", "CumulusStorage",
        ]),
        "PostgresStorage": essentials.union(["CPostgres", "CumulusModel", "CumulusStorage"]),
        "JWTKitTokens": ["CumulusModel", "CumulusOperations", "JWTKit"],
        // Edges, harness, programs.
        "Cumulus": essentials.union([
            "Crypto", "CumulusAssets", "CumulusModel", "CumulusTransport", "CumulusWire", "NIOCore",
        ]),
        "CumulusPages": [],
        "CumulusGateway": [
            "AsyncHTTPClient", "CoreMetrics", "Crypto", "CryptoExtras", "CumulusAssets",
            "CumulusModel", "CumulusNode", "CumulusPages", "CumulusTransport", "CumulusWire",
            "HTTPTypes", "HummingbirdCore", "Logging", "NIOCore", "NIOHTTP1", "NIOPosix", "NIOSSL",
            "Synchronization",
        ],
        "CumulusDescriptors": [],
        "CumulusGRPC": [
            "Crypto", "CumulusModel", "CumulusNode", "CumulusTransport", "CumulusWire", "GRPCCore",
            "GRPCNIOTransportHTTP2Posix", "NIOCore", "NIOHPACK", "NIOHTTP2", "NIOPosix", "NIOSSL",
            "Synchronization",
        ],
        "CumulusFoundation": ["CumulusModel", "Foundation"],
        "CumulusCloudKit": [
            "Cumulus", "CumulusFoundation", "CumulusModel", "Foundation", "Synchronization",
        ],
        "CloudKit": ["CumulusCloudKit"],
        "CoreLocation": ["CumulusFoundation"],
        "CumulusTesting": system.union([
            "Crypto", "CryptoExtras", "Cumulus", "CumulusAssets", "CumulusModel", "CumulusNode",
            "CumulusOperations", "CumulusReplication", "CumulusStorage", "CumulusTransport",
            "CumulusWire", "Logging", "NIOCore",
        ]),
        "CumulusServer": essentials.union([
            "ArgumentParser", "CoreMetrics", "CumulusDescriptors", "CumulusGRPC", "CumulusGateway",
            "CumulusModel", "CumulusNode", "CumulusOperations", "CumulusStorage",
            "CumulusTransport", "CumulusWire", "JWTKitTokens", "Logging", "PostgresStorage",
            "RocksDBStorage", "UnixSignals",
        ]),
        "CumulusTerminal": essentials.union(["ArgumentParser", "Cumulus", "CumulusModel"]),
        "CumulusTransfer": essentials.union([
            "ArgumentParser", "AsyncHTTPClient", "Crypto", "Cumulus", "CumulusModel",
            "CumulusTerminal", "NIOCore", "NIOHTTP1",
        ]),
        "CumulusCLI": essentials.union([
            "ArgumentParser", "Crypto", "Cumulus", "CumulusAssets", "CumulusModel",
            "CumulusReplication", "CumulusStorage", "CumulusTerminal", "CumulusTransfer",
            "RocksDBStorage", "SwiftASN1", "X509",
        ]),
        "CumulusBench": system.union([
            "ArgumentParser", "AsyncHTTPClient", "Crypto", "CryptoExtras", "Cumulus",
            "CumulusAssets", "CumulusModel", "CumulusTerminal", "CumulusTransport", "CumulusWire",
            "Histogram", "NIOCore", "NIOHTTP1",
        ]),
        "CumulusServerProgram": ["CumulusServer"],
        "CumulusCLIProgram": ["CumulusCLI"],
        "CumulusBenchProgram": ["CumulusBench"],
        "CumulusSimulator": system.union(["ArgumentParser", "CumulusTesting", "RocksDBStorage"]),
        // The examples know what an app knows.
        "ExampleTerminal": ["Dispatch", "Foundation", "Synchronization"],
        "CloudPhotos": app,
        "Continuum": app,
        "FoodPin": app,
        "Timeline": app,
    ]

    /// What the examples may import: what apps have on Apple's systems, and their terminal.
    private static let app: Set = [
        "CloudKit", "CoreLocation", "Dispatch", "ExampleTerminal", "Foundation",
    ]

    /// C, which must not show in what a target offers to others.
    private static let internalOnly: Set = [
        "CCumulusWire", "CPostgres", "CRocksDB", "CXXHash", "CZstd",
    ]

    /// The violations in the imports of one file, each with the reason; empty if there are none.
    static func violations(target: String, text: String) -> [String] {
        guard let allowed = allowed[target] else { return ["\(target) has no rule"] }
        return imports(in: text).flatMap { found in
            var wrong: [String] = []
            if !allowed.contains(found.module) {
                wrong.append("\(target) must not import \(found.module)")
            }
            if internalOnly.contains(found.module), !found.isInternal {
                wrong.append("\(found.module) must be an internal import")
            }
            if found.isExported, !mayExport(target, found.module) {
                wrong.append("\(target) must not re-export \(found.module)")
            }
            return wrong
        }
    }

    private static func mayExport(_ target: String, _ module: String) -> Bool {
        switch target {
        case "CumulusSystem": true
        case "Cumulus": module == "CumulusModel"
        // An app that imports CloudKit gets Foundation and Core Location with it.
        case "CumulusCloudKit": module == "CumulusFoundation" || module == "Foundation"
        case "CloudKit": module == "CumulusCloudKit"
        case "CoreLocation": module == "CumulusFoundation"
        default: false
        }
    }

    static func imports(in text: String) -> [Import] {
        let words = /(?:@\w+(?:\([^)]*\))?|public|package|internal|fileprivate|private)\s+/
        let kind = /(?:typealias|struct|class|enum|protocol|let|var|func)\s+/
        let pattern = Regex {
            /(?:^|;)[ \t]*/
            Capture { ZeroOrMore { words } }
            /import\s+/
            Optionally { kind }
            /`?/
            Capture { /\w+/ }
        }
        return code(of: text).matches(of: pattern.anchorsMatchLineEndings()).map { match in
            Import(
                module: String(match.output.2),
                words: match.output.1.split(whereSeparator: \.isWhitespace).map(String.init)
            )
        }
    }
}
