// Holds the client apart from the server: an app that asks for no trait gets no library of the
// system, and SwiftPM fetches no package for it that only a server needs.

import Testing

@Suite struct ClientGraphTests {
    /// The packages of which the client consists, beside its own.
    private static let packages: Set = ["swift-crypto", "swift-nio", "swift-nio-ssl"]

    private static let graph = Result { try PackageGraph() }

    @Test func aClientWithoutTraitsNeedsNoSystemLibrary() throws {
        let graph = try Self.graph.get()
        for product in ["Cumulus", "CumulusCloudKit"] {
            #expect(try graph.systemLibraries(of: product, traits: []) == [], "\(product)")
            let compressing = try graph.systemLibraries(of: product, traits: ["Zstd"])
            // Elsewhere the second one is empty, and says where to find Apple's CloudKit.
            if product == "Cumulus" { #expect(compressing == ["CZstd"]) }
        }
        // A graph without edges would say the same of a server.
        let server = try graph.systemLibraries(of: "cumulusd", traits: ["Server", "Zstd"])
        #expect(server == ["CProtobufC", "CRocksDB", "CXXHash", "CZstd"])
    }

    @Test func aClientStandsOnFewPackages() throws {
        let graph = try Self.graph.get()
        let reached = try graph.reached(from: "Cumulus", traits: []).packages
        #expect(reached == Self.packages)
        // A package is fetched if any target of ours names it, whether an app has that one or not.
        let named = graph.targets.values.flatMap(\.edges)
            .filter { $0.isPackage && $0.counts([]) }
        #expect(Set(named.map(\.name)) == Self.packages)
    }

    /// A package that no target names can't hang on a trait: every app would fetch it.
    @Test func everyPackageIsNamedByATarget() throws {
        let graph = try Self.graph.get()
        let named = Set(graph.targets.values.flatMap(\.edges).filter(\.isPackage).map(\.name))
        #expect(graph.packages.isSuperset(of: Self.packages))
        #expect(graph.packages.subtracting(named) == [])
    }

    /// SwiftPM refuses a package by version whose products have such targets.
    @Test func whatAppsGetHasNoUnsafeFlags() throws {
        let graph = try Self.graph.get()
        for product in ["Cumulus", "CumulusCloudKit"] {
            let reached = try graph.reached(from: product, traits: []).targets
            let unsafe = reached.filter { graph.targets[$0]?.hasUnsafeFlags == true }
            #expect(unsafe == [], "\(product)")
        }
        #expect(graph.targets["TidyTests"]?.hasUnsafeFlags == false)
        #expect(graph.targets["CumulusNodeTests"]?.hasUnsafeFlags == true)
    }
}
