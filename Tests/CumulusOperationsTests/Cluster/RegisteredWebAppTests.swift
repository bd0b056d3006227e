// Web apps as registers of the cluster: what a token leads to, what changes do, and what two nodes
// that change one app agree on.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct RegisteredWebAppTests {
    private static let scope = ScopeID(container: "iCloud.test", environment: .development)
    private static let other = ScopeID(container: "iCloud.test", environment: .production)
    private static let fresh = String(repeating: "f", count: 32)
    private static let png: Bytes = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1, 2]

    private let stores: [TestStore]

    /// Two nodes that know the container and nothing else.
    init() throws {
        let store = try TestStore()
        _ = try store.run(WriteRequest(CreateContainer("iCloud.test"), caller: .administrator))
            .get()
        stores = [store, try TestStore(copying: store, seed: 2)]
    }

    private static func app(
        _ name: String = "notes",
        token: String = "",
        title: String = "",
        in scope: ScopeID = scope
    ) -> WebApp {
        WebApp(
            name: name,
            scope: scope,
            token: token,
            origins: ["https://notes.example.com", "http://localhost:8080"],
            callback: "https://notes.example.com/in",
            title: title
        )
    }

    @discardableResult
    private func set(
        _ app: WebApp,
        isNew: Bool = true,
        logo: SetWebApp.Logo = .kept,
        fresh: String = fresh,
        at node: Int = 0,
        by caller: Caller = .administrator
    ) throws -> SetWebApp.Outcome {
        let change = SetWebApp(app, isNew: isNew, logo: logo, freshToken: fresh)
        return try stores[node].run(WriteRequest(change, caller: caller)).get()
    }

    private func remove(_ name: String, at node: Int = 0) throws -> Bool {
        let change = RemoveWebApp(name, of: Self.scope)
        return try stores[node].run(WriteRequest(change, caller: .administrator)).get()
    }

    private func found(_ token: String, at node: Int = 0) throws -> WebApp? {
        let digest = RegisteredWebApps.digest(of: token)
        return try RegisteredWebApps.find(token: digest, in: stores[node].reader)
    }

    private func names(at node: Int = 0, in scope: ScopeID = scope) throws -> [String] {
        try RegisteredWebApps.all(of: scope, in: stores[node].reader).map(\.app.name)
    }

    // MARK: One node

    @Test func aTokenLeadsToItsApp() throws {
        let added = try set(Self.app(title: "My notes"), logo: .set(Self.png))
        #expect(added.app.token == Self.fresh && added.logoBytes == Self.png.count)
        #expect(try found(Self.fresh) == added.app)
        #expect(try found("another token of nobody") == nil)
        #expect(added.app.created == stores[0].now)
        #expect(try RegisteredWebApps.logo(of: added.app, in: stores[0].reader) == Self.png)
        // The same name in the other environment is another app.
        let production = try set(Self.app(token: "0123456789abcdef", in: Self.other))
        #expect(production.app.token == "0123456789abcdef" && production.logoBytes == 0)
        #expect(try names() == ["notes"] && names(in: Self.other) == ["notes"])
        #expect(try found("0123456789abcdef")?.scope == Self.other)
    }

    @Test func aChangeKeepsWhatItDoesNotName() throws {
        let added = try set(Self.app(), logo: .set(Self.png)).app
        var changed = added
        (changed.token, changed.title, changed.created) = ("", "Notes", 5)
        let kept = try set(changed, isNew: false, fresh: "g")
        #expect(kept.app.token == added.token && kept.app.created == added.created)
        #expect(kept.app.title == "Notes" && kept.logoBytes == Self.png.count)
        #expect(try set(changed, isNew: false, logo: .removed).logoBytes == 0)
        #expect(try RegisteredWebApps.logo(of: added, in: stores[0].reader) == [])
    }

    @Test func aReplacedTokenIsGoodForNothing() throws {
        try set(Self.app())
        try set(Self.app(token: "0123456789abcdef"), isNew: false)
        #expect(try found(Self.fresh) == nil && found("0123456789abcdef")?.name == "notes")
        #expect(try remove("notes") && found("0123456789abcdef") == nil && names() == [])
        #expect(try !remove("notes"))
        // A name and a token that are free again.
        try set(Self.app(token: "0123456789abcdef"))
        #expect(try found("0123456789abcdef") != nil)
    }

    @Test func whatCanNotBeIsRefused() throws {
        #expect(throws: ServiceError.self) { try set(Self.app(), isNew: false) }
        try set(Self.app())
        #expect(throws: ServiceError.self) { try set(Self.app()) }
        #expect(throws: ServiceError.self) { try set(Self.app("other", token: Self.fresh)) }
        #expect(throws: ServiceError.self) { try set(Self.app("third"), by: .anonymous) }
        let nowhere = ScopeID(container: "iCloud.none", environment: .production)
        #expect(throws: ServiceError.self) { try set(Self.app(in: nowhere)) }
        #expect(try names() == ["notes"])
    }

    // MARK: Two nodes

    @Test func bothNodesKnowAnApp() throws {
        let added = try set(Self.app(), logo: .set(Self.png)).app
        try exchangeClusterCommits(stores[0], stores[1])
        #expect(try found(Self.fresh, at: 1) == added)
        #expect(try RegisteredWebApps.logo(of: added, in: stores[1].reader) == Self.png)
        #expect(try remove("notes", at: 1))
        try exchangeClusterCommits(stores[0], stores[1])
        #expect(try found(Self.fresh) == nil && names() == [])
    }

    /// If both nodes add an app of one name, the later one stays, and the token of the other one is
    /// good nowhere.
    @Test func theLaterOfTwoChangesCounts() throws {
        try set(Self.app(title: "first"), fresh: String(repeating: "a", count: 32))
        stores[1].now = stores[0].now + 60_000
        let later = String(repeating: "b", count: 32)
        try set(Self.app(title: "later"), fresh: later, at: 1)
        try exchangeClusterCommits(stores[0], stores[1])
        for node in 0...1 {
            #expect(try found(later, at: node)?.title == "later", "\(node)")
            #expect(try found(String(repeating: "a", count: 32), at: node) == nil, "\(node)")
            #expect(try names(at: node) == ["notes"], "\(node)")
        }
    }

    // MARK: Bytes

    @Test func theBytesOfAnApp() throws {
        var app = Self.app(token: "0123456789abcdef", title: "é")
        app.created = 1_790_000_000_000
        let bytes = app.value
        #expect(
            bytes.hex == "10303132333435363738396162636465660219"
                + "68747470733a2f2f6e6f7465732e6578616d706c652e636f6d15"
                + "687474703a2f2f6c6f63616c686f73743a383038301c"
                + "68747470733a2f2f6e6f7465732e6578616d706c652e636f6d2f696e02c3a980b083c59868"
        )
        #expect(try WebApp(bytes, name: "notes", scope: Self.scope) == app)
        // A later release may write more.
        #expect(try WebApp(bytes + [1, 2], name: "notes", scope: Self.scope) == app)
        for cut in Damage.truncations(of: bytes) {
            #expect(throws: MalformedBytes.self) {
                try WebApp(cut, name: "notes", scope: Self.scope)
            }
        }
        var dice = SeededGenerator(seed: 11)
        for _ in 0..<2_000 {
            let mutation = Damage.mutation(of: bytes, using: &dice)
            let read = try? WebApp(mutation, name: "notes", scope: Self.scope)
            #expect(read.map { $0.origins.count <= WebApp.mostOrigins } ?? true)
        }
    }
}
