// swift-tools-version: 6.2
import PackageDescription

// The settings of every Swift target, tests too.
let house: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// A target of ours with the house settings.
func room(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: house)
}

/// The programs' memory: many small values of few sizes, for which jemalloc costs less than glibc.
let allocator: [LinkerSetting] = [.linkedLibrary("jemalloc", .when(platforms: [.linux]))]

/// The flags of what compiles fast in place of running fast.
///
/// Code that is not optimised compiles in a third of the time, or less. A tenth more goes with debug
/// information, for expectations name their lines; and another with a second reading of the module.
let quick = SwiftSetting.unsafeFlags([
    "-Onone", "-Xfrontend", "-gnone", "-no-emit-module-separately-wmo",
])

/// The settings of tests.
///
/// What tests test is optimised; and so are those that read the whole tree themselves.
let plain: [SwiftSetting] = house + [quick]

/// The settings of the commands of `cumulus`.
///
/// A command runs once, and waits for a node most of that time: so it is not optimised. What handles
/// many records is in `CumulusTransfer`, and is. `cluster/package` makes the program small instead.
let commands: [SwiftSetting] =
    Context.environment["CUMULUS_PACKAGE"] == nil ? plain : house + [.unsafeFlags(["-Osize"])]

/// The beginning of a program, apart from the module that it runs.
func program(running name: String) -> Target {
    .executableTarget(
        name: "\(name)Program",
        dependencies: [.target(name: name)],
        swiftSettings: plain
    )
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: plain)
}

/// An app as people write them for CloudKit: of our modules it knows only its terminal beside it.
func example(_ name: String, _ settings: [SwiftSetting] = plain) -> Target {
    .executableTarget(
        name: name,
        dependencies: ["CloudKit", "CoreLocation", "ExampleTerminal"],
        path: "Sources/Examples/\(name)",
        exclude: ["Demo"],
        swiftSettings: settings
    )
}

/// The settings of apps in the language mode that most are written in.
let old: [SwiftSetting] = [
    .swiftLanguageMode(.v5), .treatAllWarnings(as: .error), quick,
]

let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let cryptoExtras = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")

/// A product that the client does not need: it hangs on the trait `Server`.
///
/// A package of which every product hangs on it is not even fetched for an app without the trait.
func server(_ name: String, _ package: String) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: ["Server"]))
}

let jwtKit = server("JWTKit", "jwt-kit")
let hummingbirdCore = server("HummingbirdCore", "hummingbird")
let asyncHTTPClient = server("AsyncHTTPClient", "async-http-client")
let httpTypes = server("HTTPTypes", "swift-http-types")
let log = server("Logging", "swift-log")
let metrics = server("CoreMetrics", "swift-metrics")
let nioHTTP2 = server("NIOHTTP2", "swift-nio-http2")
let grpcCore = server("GRPCCore", "grpc-swift-2")
let grpcHTTP2 = server("GRPCNIOTransportHTTP2Posix", "grpc-swift-nio-transport")
let arguments = server("ArgumentParser", "swift-argument-parser")

/// libzstd, where the trait `Zstd` is on and the system has it; elsewhere chunks stay plain.
let zstd = Target.Dependency.target(
    name: "CZstd",
    condition: .when(platforms: [.linux, .macOS], traits: ["Zstd"])
)

let package = Package(
    name: "cumulus",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "Cumulus", targets: ["Cumulus"]),
        .library(name: "CumulusCloudKit", targets: ["CumulusCloudKit"]),
        .executable(name: "cumulusd", targets: ["CumulusServerProgram"]),
        .executable(name: "cumulus", targets: ["CumulusCLIProgram"]),
        .executable(name: "cumulus-bench", targets: ["CumulusBenchProgram"]),
        .executable(name: "cumulus-sim", targets: ["CumulusSimulator"]),
    ],
    // An app that needs nothing but the client turns both off, with `traits: []`.
    traits: [
        .default(enabledTraits: ["Server", "Zstd"]),
        .trait(
            name: "Zstd",
            description: "Compresses the chunks of assets, with the system's libzstd."
        ),
        .trait(
            name: "Server",
            description: "Node, gateway and programs, with the packages that only they need.",
            enabledTraits: ["Zstd"]
        ),
    ],
    dependencies: [
        // Event loops, sockets and byte buffers.
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        // TLS 1.3.
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        // HTTP, for the gateway alone; none of its larger parts.
        .package(
            url: "https://github.com/hummingbird-project/hummingbird",
            from: "2.28.1",
            traits: []
        ),
        // gRPC, whose messages pass through as bytes: calls and metadata, and HTTP/2 below them.
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
        .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
        // The frames below gRPC, which a guard counts.
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        // Requests to webhooks, identity providers and push services; requests of the bench and of
        // migrations.
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        // Names of HTTP's fields and its statuses, as Hummingbird's values have them.
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        // A private authority and the certificates of nodes.
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        // Octets of addresses in certificates.
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        // SHA-256 for tags, digests, the log's chain and stored tokens; scrypt for passwords.
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        // Signatures of ID tokens; one small target names it.
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
        // Structured logs of the node.
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        // Counters, gauges and timers, for events of the node and of libraries.
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        // Flags, help texts and exit codes of the programs.
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        // SIGTERM and SIGINT as an asynchronous sequence.
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        // Latency percentiles of `cumulus-bench`.
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
    ],
    targets: [
        // C: the generated codec, the loader of libpq, and the system libraries.
        .systemLibrary(
            name: "CProtobufC",
            pkgConfig: "libprotobuf-c",
            providers: [.apt(["libprotobuf-c-dev"]), .brew(["protobuf-c"])]
        ),
        .systemLibrary(
            name: "CRocksDB",
            pkgConfig: "rocksdb",
            providers: [.apt(["librocksdb-dev"]), .brew(["rocksdb"])]
        ),
        .systemLibrary(
            name: "CZstd",
            pkgConfig: "libzstd",
            providers: [.apt(["libzstd-dev"]), .brew(["zstd"])]
        ),
        .systemLibrary(
            name: "CXXHash",
            pkgConfig: "libxxhash",
            providers: [.apt(["libxxhash-dev"]), .brew(["xxhash"])]
        ),
        .target(
            name: "CCumulusWire",
            dependencies: ["CProtobufC"],
            cSettings: [.treatAllWarnings(as: .error)]
        ),
        // It needs libpq's header (libpq-dev, or Homebrew's libpq), and is not linked with libpq.
        .target(name: "CPostgres", cSettings: [.treatAllWarnings(as: .error)]),

        // What the programs need of the system, in place of all of Foundation.
        room("CumulusSystem", []),
        // Vocabulary and seams.
        room("CumulusModel", []),
        // What assets are made of: cuts, digests, zstd.
        room("CumulusAssets", ["CumulusModel", zstd, crypto]),
        room("CumulusWire", ["CumulusModel", "CumulusAssets"]),
        // What callers send, read by libprotobuf-c.
        room("CumulusRequests", ["CumulusWire", "CumulusModel", "CumulusAssets", "CCumulusWire"]),
        room("CumulusStorage", ["CumulusSystem", "CumulusModel", "CumulusAssets", crypto]),

        // Core: what a request means, and what nodes owe each other, without I/O.
        room(
            "CumulusOperations",
            ["CumulusModel", "CumulusStorage", "CumulusAssets", crypto, cryptoExtras]
        ),
        room("CumulusReplication", ["CumulusModel", "CumulusStorage"]),

        // Shell and real I/O.
        room(
            "CumulusNode",
            [
                "CumulusOperations", "CumulusReplication", "CumulusStorage", "CumulusRequests",
                "CumulusWire", "CumulusAssets", "CumulusModel", "CumulusSystem", "CXXHash", crypto,
                log, metrics,
            ]
        ),
        room(
            "CumulusTransport",
            ["CumulusWire", "CumulusModel", "CumulusSystem", crypto, nioCore, nioPosix, nioSSL]
        ),
        room(
            "RocksDBStorage",
            ["CumulusStorage", "CumulusModel", "CumulusSystem", "CRocksDB", "CXXHash"]
        ),
        room("PostgresStorage", ["CumulusStorage", "CumulusModel", "CumulusSystem", "CPostgres"]),
        room("JWTKitTokens", ["CumulusOperations", "CumulusModel", jwtKit]),

        // Edges: the client, the harness, the programs.
        room(
            "Cumulus",
            [
                "CumulusModel", "CumulusAssets", "CumulusWire", "CumulusTransport", "CumulusSystem",
                crypto, nioCore,
            ]
        ),
        room(
            "CumulusTesting",
            [
                "CumulusNode", "Cumulus", "CumulusTransport", "CumulusModel", "CumulusStorage",
                "CumulusOperations", "CumulusReplication", "CumulusAssets", crypto, cryptoExtras,
                log,
            ]
        ),
        // The files of the gateway's pages. The build makes literals of their bytes, which take
        // twice as long to compile with optimisation, and seconds without: so they are a target,
        // which a change of the gateway does not compile again.
        .target(
            name: "CumulusPages",
            resources: [.embedInCode("Console"), .embedInCode("SignIn")],
            swiftSettings: plain
        ),
        // CloudKit's web services, by the same handlers as the binary protocol.
        room(
            "CumulusGateway",
            [
                "CumulusNode", "CumulusPages", "CumulusTransport", "CumulusWire", "CumulusAssets",
                "CumulusModel", asyncHTTPClient, crypto, cryptoExtras, httpTypes, hummingbirdCore,
                log, metrics, nioCore, nioHTTP1, nioPosix, nioSSL,
            ]
        ),
        // What `proto/` says, as descriptors that protoc made: a literal of bytes, as pages are.
        .target(
            name: "CumulusDescriptors",
            resources: [.embedInCode("Files")],
            swiftSettings: plain
        ),
        // gRPC, by the same handlers as the binary protocol.
        room(
            "CumulusGRPC",
            [
                "CumulusNode", "CumulusTransport", "CumulusWire", "CumulusModel", crypto, grpcCore,
                grpcHTTP2, nioCore, nioHTTP2, server("NIOHPACK", "swift-nio-http2"), nioPosix,
                nioSSL,
            ]
        ),
        .target(
            name: "CumulusServer",
            dependencies: [
                "CumulusGateway", "CumulusGRPC", "CumulusDescriptors", "CumulusNode",
                "CumulusOperations", "CumulusTransport", "JWTKitTokens", "PostgresStorage",
                "RocksDBStorage", "CumulusStorage", "CumulusWire", "CumulusModel", "CumulusSystem",
                arguments, log, metrics,
                server("UnixSignals", "swift-service-lifecycle"),
            ],
            swiftSettings: house,
            linkerSettings: allocator
        ),
        // What programs that talk to nodes have of a terminal: settings, ways to fail, output.
        room("CumulusTerminal", ["Cumulus", "CumulusModel", "CumulusSystem", arguments]),
        // What `cumulus` does with many records: import, export and migration.
        room(
            "CumulusTransfer",
            [
                "CumulusTerminal", "Cumulus", "CumulusModel", "CumulusSystem", arguments,
                asyncHTTPClient, crypto, nioCore, nioHTTP1,
            ]
        ),
        .target(
            name: "CumulusCLI",
            dependencies: [
                "CumulusTerminal", "CumulusTransfer", "Cumulus", "CumulusAssets", "CumulusModel",
                "CumulusReplication", "CumulusStorage", "CumulusSystem", "RocksDBStorage",
                arguments, crypto,
                server("X509", "swift-certificates"),
                server("SwiftASN1", "swift-asn1"),
            ],
            swiftSettings: commands,
            linkerSettings: allocator
        ),
        .target(
            name: "CumulusBench",
            dependencies: [
                "CumulusTerminal", "Cumulus", "CumulusAssets", "CumulusModel", "CumulusTransport",
                "CumulusWire", arguments, asyncHTTPClient, crypto, cryptoExtras, nioCore, nioHTTP1,
                server("Histogram", "hdrhistogram-swift"),
            ],
            swiftSettings: house,
            linkerSettings: allocator
        ),
        program(running: "CumulusServer"),
        program(running: "CumulusCLI"),
        program(running: "CumulusBench"),
        .executableTarget(
            name: "CumulusSimulator",
            dependencies: ["RocksDBStorage", "CumulusTesting", arguments],
            swiftSettings: house,
            linkerSettings: allocator
        ),

        // What the examples have of a terminal.
        .target(
            name: "ExampleTerminal",
            path: "Sources/Examples/ExampleTerminal",
            swiftSettings: plain
        ),

        // Tests, named after what they test.
        .testTarget(
            name: "CumulusModelTests",
            dependencies: ["CumulusModel", "CumulusTesting"],
            exclude: ["Fixtures"],
            swiftSettings: plain
        ),
        tests("CumulusAssetsTests", ["CumulusAssets", "CumulusModel", "CumulusTesting"]),
        // The messages that CCumulusWire lacks, for the library's word on our own coders.
        .target(
            name: "CCumulusAnswers",
            dependencies: ["CCumulusWire"],
            path: "Tests/CCumulusAnswers",
            cSettings: [.treatAllWarnings(as: .error)]
        ),
        tests(
            "CumulusWireTests",
            [
                "CumulusWire", "CumulusRequests", "CCumulusWire", "CCumulusAnswers",
                "CumulusAssets", "CumulusModel", "CumulusTesting",
            ]
        ),
        tests(
            "CumulusStorageTests",
            ["CumulusStorage", "CumulusAssets", "CumulusModel", "CumulusTesting"]
        ),
        tests(
            "CumulusOperationsTests",
            [
                "CumulusOperations", "CumulusStorage", "CumulusAssets", "CumulusModel",
                "CumulusTesting",
            ]
        ),
        tests(
            "CumulusReplicationTests",
            [
                "CumulusReplication", "CumulusOperations", "CumulusStorage", "CumulusAssets",
                "CumulusModel", "CumulusTesting",
            ]
        ),
        tests(
            "RocksDBStorageTests",
            ["RocksDBStorage", "CumulusStorage", "CumulusModel", "CumulusTesting"]
        ),
        tests(
            "PostgresStorageTests",
            ["PostgresStorage", "CumulusStorage", "CumulusModel", "CumulusTesting"]
        ),
        tests(
            "CumulusNodeTests",
            [
                "CumulusNode", "Cumulus", "CumulusAssets", "CumulusGRPC", "CumulusReplication",
                "CumulusRequests", "CumulusStorage", "CumulusWire", "CumulusModel",
                "CumulusSystem", "CumulusTesting", "JWTKitTokens", grpcCore, log, metrics,
            ]
        ),
        tests(
            "CumulusTransportTests",
            [
                "CumulusTransport", "CumulusNode", "CumulusStorage", "CumulusWire", "CumulusModel",
                "CumulusTesting", nioCore, nioEmbedded,
                .product(name: "NIOTLS", package: "swift-nio"),
            ]
        ),
        tests(
            "CumulusGatewayTests",
            [
                "CumulusGateway", "Cumulus", "CumulusAssets", "CumulusModel", "CumulusNode",
                "CumulusOperations", "CumulusPages", "CumulusStorage", "CumulusTesting",
                "CumulusTransport", "CumulusWire", "JWTKitTokens", crypto, cryptoExtras, log,
                metrics, nioCore,
            ]
        ),
        tests(
            "CumulusGRPCTests",
            [
                "CumulusGRPC", "Cumulus", "CumulusDescriptors", "CumulusModel", "CumulusNode",
                "CumulusTesting", "CumulusWire", crypto, grpcCore, grpcHTTP2, nioCore,
                server("NIOHPACK", "swift-nio-http2"), nioPosix,
            ]
        ),
        tests("CumulusTests", ["Cumulus", "CumulusAssets", "CumulusRequests", "CumulusTesting"]),
        tests("CumulusTerminalTests", ["CumulusTerminal", "CumulusModel", arguments]),
        .testTarget(
            name: "CumulusTransferTests",
            dependencies: [
                "CumulusTransfer", "CumulusTerminal", "Cumulus", "CumulusModel", "CumulusSystem",
                crypto,
            ],
            exclude: ["Fixtures"],
            swiftSettings: plain
        ),
        tests(
            "CumulusCLITests",
            ["CumulusCLI", "CumulusTerminal", "Cumulus", "CumulusModel", "CumulusWire", arguments]
        ),
        tests(
            "CumulusBenchTests",
            [
                "CumulusBench", "CumulusTerminal", "Cumulus", "CumulusModel", "CumulusTransport",
                "CumulusWire", arguments, asyncHTTPClient, nioCore,
            ]
        ),
        tests(
            "CumulusServerTests",
            [
                "CumulusServer", "CumulusGateway", "CumulusModel", "CumulusNode", "CumulusTesting",
                arguments, log,
            ]
        ),
        // Runs the programs, and so needs none of their modules.
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "CumulusAssets", "CumulusTerminal", "CumulusTransfer", "Cumulus", "CumulusModel",
                "CumulusRequests", "CumulusStorage", "CumulusTesting", "CumulusWire",
                "ExampleTerminal", "RocksDBStorage", crypto,
            ],
            exclude: ["Fixtures"],
            swiftSettings: plain
        ),
        // The tree itself: imports, top level, seams, comments.
        .testTarget(name: "TidyTests", swiftSettings: house),
    ]
)

// A package that only vends a plugin can't hang on a trait: nothing of ours names it. So the manifest
// names it for `cluster/docs` alone, and nobody else fetches it.
if Context.environment["CUMULUS_DOCS"] != nil {
    package.dependencies.append(
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0")
    )
}

#if os(Linux)
    // `import CloudKit` and `import CoreLocation` work as they stand. Apple's systems have modules
    // of these names.
    package.products.append(.library(name: "CloudKit", targets: ["CloudKit", "CoreLocation"]))
    package.targets += [
        // What Linux lacks of Foundation and Core Location, for apps written for CloudKit.
        room("CumulusFoundation", ["CumulusModel"]),
        // CloudKit's surface on top of the client.
        room("CumulusCloudKit", ["Cumulus", "CumulusFoundation", "CumulusModel"]),
        room("CloudKit", ["CumulusCloudKit"]),
        room("CoreLocation", ["CumulusFoundation"]),
        tests("CumulusFoundationTests", ["CumulusFoundation", "CumulusModel", "CumulusStorage"]),
        .testTarget(
            name: "CumulusCloudKitTests",
            dependencies: [
                "CloudKit", "CumulusCloudKit", "CumulusFoundation", "Cumulus", "CumulusModel",
                "CumulusTesting",
            ],
            exclude: ["Fixtures"],
            swiftSettings: plain
        ),
        // Apps as they stand; with the list of members that the tests above have, in Swift 5.
        .testTarget(
            name: "CloudKitTests",
            dependencies: ["CloudKit", "CoreLocation", "CumulusTesting"],
            swiftSettings: old
        ),
        // The examples.
        example("CloudPhotos", old),
        example("Continuum"),
        example("FoodPin"),
        example("Timeline", old),
    ]
#else
    // One file, which tells apps to take Apple's CloudKit.
    package.targets.append(
        .target(
            name: "CumulusCloudKit",
            sources: ["Container/Elsewhere.swift"],
            swiftSettings: house + [.define("ELSEWHERE")]
        )
    )
#endif
