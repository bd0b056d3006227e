// Subscriptions are saved under ids, equivalent ones once, within limits and in certain places.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct SubscriptionTests {
    private let store: TestStore

    init() throws {
        store = try TestStore()
        try store.modify(ModifyZones(saving: ["z"]), by: .alice)
        try store.save([
            SaveItem(
                "n",
                [
                    "stars": 1, "title": "a", "data": .bytes([1]), "tags": ["x"],
                    "owner": .link("m"),
                ]
            )
        ])
    }

    private func query(
        _ id: String,
        _ format: String = "stars > 1",
        type: String = "Note",
        zone: RecordZone.ID? = nil,
        _ change: (inout Subscription) -> Void = { _ in }
    ) throws -> Subscription {
        let predicate = try Query.Predicate(format: format)
        let kind = Subscription.Kind.query(recordType: type, predicate: predicate, zone: zone)
        var subscription = Subscription(id: id, kind: kind)
        change(&subscription)
        return subscription
    }

    private let zoneKind = Subscription.Kind.zone(RecordZone.ID(zoneName: "z"))

    /// The code of each save; nil if it was done.
    @discardableResult
    private func save(
        _ subscriptions: Subscription...,
        in database: DatabaseScope = .private,
        by caller: Caller = .alice
    ) throws -> [ServiceError.Code?] {
        let modify = ModifySubscriptions(in: database, saving: subscriptions)
        return try store.modify(modify, by: caller).codes
    }

    private func failure(
        _ subscription: Subscription,
        in database: DatabaseScope = .private
    ) throws -> ModifyOutcome.Failure? {
        let modify = ModifySubscriptions(in: database, saving: [subscription])
        let outcome = try store.modify(modify)
        #expect(outcome.dots == [], "what failed was written")
        guard case .failure(let failure) = outcome.saves[0] else { return nil }
        return failure
    }

    private func refusal(_ subscription: Subscription) throws -> ModifyOutcome.Failure? {
        let outcome = try store.modify(ModifySubscriptions(saving: [subscription]))
        guard case .failure(let failure) = outcome.saves[0] else { return nil }
        return failure
    }

    private func ids(
        in database: DatabaseScope = .private,
        by caller: Caller = .alice
    ) throws -> [String] {
        try store.subscriptions(in: database, by: caller).map(\.id)
    }

    // MARK: Life

    @Test func whatIsSavedIsThereAsItWasSaved() throws {
        var info = Subscription.NotificationInfo()
        (info.alertLocalizationKey, info.alertLocalizationArgs) = ("NEW", ["title"])
        info.desiredKeys = ["stars", "title", "owner"]
        let all = [
            Subscription(id: "d", kind: .database(recordType: "Note")),
            try query("q") {
                $0.options = [.firesOnRecordDeletion, .firesOnce]
                $0.notificationInfo = info
            },
            Subscription(id: "z", kind: zoneKind, notificationInfo: info.withoutKeys),
        ]
        #expect(try save(all[2], all[0], all[1]) == [nil, nil, nil])
        #expect(try store.subscriptions() == all)
        #expect(try LogReplay.differences(in: store.engine) == [])
        #expect(try DerivedRows.differences(in: store.engine) == [])
    }

    @Test func aSaveTakesThePlaceOfTheOneWithThatID() throws {
        try save(query("q"))
        #expect(try save(query("q", "stars > 2")) == [nil])
        #expect(try store.subscriptions() == [try query("q", "stars > 2")])
        // Other subscriptions may now have the former predicate.
        #expect(try save(query("other")) == [nil])
    }

    @Test func savingTheSameChangesNothing() throws {
        try save(query("q", "stars IN {1, 2}"))
        let rows = try store.allRows()
        #expect(try save(query("q", "stars IN {2, 1, 1}")) == [nil])
        #expect(try store.allRows() == rows)
    }

    @Test func deletingOneThatIsNotThereIsAnError() throws {
        try save(query("q"))
        let modify = ModifySubscriptions(deleting: ["q", "q", "never"])
        #expect(try store.modify(modify).codes == [nil, .unknownItem, .unknownItem])
        #expect(try ids() == [])
        #expect(try save(query("q")) == [nil])
        #expect(try LogReplay.differences(in: store.engine) == [])
    }

    @Test func itemsOfARequestAreDoneOneAfterTheOther() throws {
        let fault = ServiceError(.invalidArguments, .invalidName, "no name")
        var modify = ModifySubscriptions(
            saving: [try query("a"), try query("b"), try query("a", "stars > 2"), try query("b")],
            deleting: ["a"]
        )
        modify.saves.append(.failure(fault))
        modify.deletes.append(.failure(fault))
        let outcome = try store.modify(modify)
        #expect(
            outcome.codes == [
                nil, .serverRejectedRequest, nil, nil, .invalidArguments, nil, .invalidArguments,
            ]
        )
        #expect(outcome.dots.count == 1)
        #expect(try ids() == ["b"])
    }

    @Test func fetchingAnswersEachID() throws {
        try save(query("q"))
        let wanted: [Result<String, ServiceError>] = [
            .success("never"), .success("q"), .failure(ServiceError(.invalidArguments, "no id")),
        ]
        let fetch = FetchSubscriptions(database: .private, wanted: .these(wanted))
        let page = try fetch.page(
            byteLimit: .max,
            of: store.scopeNumber(),
            by: .alice,
            in: store.reader
        )
        let codes = page.results.map { result -> ServiceError.Code? in
            if case .failure(let error) = result { error.code } else { nil }
        }
        #expect(codes == [.unknownItem, nil, .invalidArguments])
        #expect(page.next == nil)
    }

    @Test func aLongListComesInPages() throws {
        for number in 0..<20 { try save(query("q\(number)", "stars > \(number)")) }
        let fetch = FetchSubscriptions(database: .private, wanted: .all)
        var (found, pages, start) = ([String](), 0, Int?.some(0))
        while let next = start {
            let page = try fetch.page(
                from: next,
                byteLimit: 100,
                of: store.scopeNumber(),
                by: .alice,
                in: store.reader
            )
            found += try page.results.map { try $0.get().id }
            pages += 1
            start = page.next
        }
        #expect(try found == ids())
        #expect(found.count == 20 && pages > 3)
    }

    // MARK: Equivalent subscriptions

    @Test func anEquivalentOneUnderAnotherIDIsADuplicate() throws {
        try save(query("first", "stars > 1 AND title == 'a'"))
        let same = try query("second", "title == 'a' AND stars > 1") {
            $0.notificationInfo = Subscription.NotificationInfo()
            $0.allowsExtensions = true
        }
        let failure = try #require(try failure(same))
        #expect(failure.code == .serverRejectedRequest)
        #expect(failure.message == "subscription is duplicate of 'first'")
        try store.modify(ModifySubscriptions(deleting: ["first"]))
        #expect(try save(same) == [nil])

        try save(Subscription(id: "z", kind: zoneKind), Subscription(id: "d", kind: .database()))
        #expect(
            try save(
                Subscription(id: "z2", kind: zoneKind),
                Subscription(id: "d2", kind: .database(), options: [.firesOnce])
            ) == [.serverRejectedRequest, .serverRejectedRequest]
        )
    }

    @Test func whatDiffersInWhatItWatchesIsNone() throws {
        #expect(
            try save(
                query("a"),
                query("b") { $0.options = [.firesOnRecordCreation] },
                query("c") { $0.options.insert(.firesOnce) },
                query("d", zone: RecordZone.ID(zoneName: "z")),
                query("e", zone: .default),
                query("f", "stars >= 1"),
                query("g", "stars < 1"),
                Subscription(id: "h", kind: zoneKind),
                Subscription(id: "i", kind: .zone(.init(zoneName: "z"), recordType: "Note")),
                Subscription(id: "j", kind: .database()),
                Subscription(id: "k", kind: .database(recordType: "Note"))
            ) == Array(repeating: nil, count: 11)
        )
    }

    @Test func thePublicDatabaseHasOneZone() throws {
        #expect(try save(query("a"), in: .public) == [nil])
        let same = try query("b", zone: .default)
        #expect(try failure(same, in: .public)?.code == .serverRejectedRequest)
    }

    // MARK: Places

    @Test func kindsHaveTheirDatabases() throws {
        let kinds = [
            try query("q"), Subscription(id: "z", kind: zoneKind),
            Subscription(id: "d", kind: .database()),
        ]
        func codes(_ database: DatabaseScope) throws -> [ServiceError.Code?] {
            try store.modify(ModifySubscriptions(in: database, saving: kinds)).codes
        }
        #expect(try codes(.public) == [nil, .badDatabase, .badDatabase])
        #expect(try codes(.private) == [nil, nil, nil])
        #expect(try codes(.shared) == [.badDatabase, .badDatabase, nil])
        #expect(try ids(in: .shared) == ["d"])
        let typed = Subscription(id: "t", kind: .database(recordType: "Note"))
        #expect(try failure(typed, in: .shared)?.code == .badDatabase)
    }

    @Test func zonesMustBeThere() throws {
        let (gone, theirs) = (
            RecordZone.ID(zoneName: "gone"), RecordZone.ID(zoneName: "z", ownerName: "_bob")
        )
        for zone in [gone, theirs] {
            #expect(try save(Subscription(id: "s", kind: .zone(zone))) == [.zoneNotFound])
            #expect(try save(query("q", zone: zone)) == [.zoneNotFound])
        }
        #expect(try save(Subscription(id: "s", kind: .zone(.default))) == [.invalidArguments])
        #expect(try save(query("q", zone: gone), in: .public) == [.zoneNotFound])
        let mine = RecordZone.ID(zoneName: "z", ownerName: "_alice")
        #expect(try save(Subscription(id: "s", kind: .zone(mine))) == [nil])
        // The user's own zone is named either way.
        #expect(try failure(Subscription(id: "t", kind: zoneKind))?.code == .serverRejectedRequest)
    }

    @Test func subscriptionsAreAUsers() throws {
        func error(_ database: DatabaseScope, by caller: Caller) -> ServiceError.Code? {
            #expect(throws: ServiceError.self) {
                try save(query("q"), in: database, by: caller)
            }?.code
        }
        for database in DatabaseScope.allCases {
            #expect(error(database, by: .anonymous) == .notAuthenticated)
            #expect(error(database, by: .administrator) == .permissionFailure)
            for caller in [Caller.anonymous, .administrator] {
                #expect(throws: ServiceError.self) { try ids(in: database, by: caller) }
            }
        }
    }

    @Test func usersDatabasesAndEnvironmentsHaveTheirOwn() throws {
        #expect(try save(query("q")) == [nil])
        #expect(try save(query("other")) == [.serverRejectedRequest])
        #expect(try save(query("q"), in: .public) == [nil])
        #expect(try save(query("q"), by: .bob) == [nil])
        #expect(try save(query("p"), in: .public, by: .bob) == [nil])
        #expect(try ids(by: .bob) == ["q"])
        let (scope, reader) = (try store.scopeNumber(), store.reader)
        #expect(try reader.subscriptions(in: scope).map(\.user).count == 4)
        let bobs = try reader.subscriptions(in: scope, of: "_bob")
        #expect(bobs.map(\.database.kind) == [.public, .private])
        #expect(bobs.map(\.subscription.id) == ["p", "q"])
        #expect(try reader.subscriptions(in: scope, of: "_bo").isEmpty)
        let production = ScopeID(container: store.scope.container, environment: .production)
        let number = try #require(try reader.scope(production))
        #expect(try reader.subscriptions(in: number).isEmpty)
    }

    // MARK: What may be asked

    @Test(
        arguments: [
            [], [.firesOnce], Subscription.Options(rawValue: 1 << 4 | 1),
        ] as [Subscription.Options]
    )
    func optionsThatCanNotBe(options: Subscription.Options) throws {
        let failure = try failure(try query("q") { $0.options = options })
        #expect(failure?.code == .invalidArguments)
        // Other kinds fire on each change.
        #expect(try save(Subscription(id: "d", kind: .database(), options: options)) == [nil])
        #expect(try store.subscriptions()[0].options == .standard)
    }

    @Test(
        arguments: [
            ("nothing == 1", "Note", .invalidArguments),
            ("stars == 'a'", "Note", .invalidArguments),
            ("data BEGINSWITH 'a'", "Note", .invalidArguments),
            ("stars == 1", "Never", .unknownItem), ("TRUEPREDICATE", "Users", .invalidArguments),
            // ___recordID has no index here.
            ("TRUEPREDICATE", "Note", .invalidArguments),
            ("stars == 1 OR stars == 5", "Note", .invalidArguments),
            ("title == nil", "Note", .invalidArguments),
            ("creationDate > now()", "Note", .invalidArguments),
        ] as [(String, String, ServiceError.Code)]
    )
    func predicatesThatNoQueryMayHave(
        format: String,
        type: String,
        code: ServiceError.Code
    ) throws {
        let subscription = try query("q", format, type: type)
        #expect(try failure(subscription)?.code == code)
        // The error's words are the same as a query's.
        guard case .query(let type, let predicate, _) = subscription.kind, type != "Users" else {
            return
        }
        let query = Query(recordType: type, predicate: predicate)
        let error = #expect(throws: ServiceError.self) { try store.query(query) }
        #expect(try failure(subscription)?.message == error?.message)
    }

    @Test(arguments: ["stars == 1 OR stars == 5", "title == nil"])
    func extensionsAreTakenWhereTheyAreAllowed(format: String) throws {
        let subscription = try query("q", format) { $0.allowsExtensions = true }
        #expect(try save(subscription) == [nil])
        #expect(try store.subscriptions()[0].allowsExtensions)
    }

    @Test(
        arguments: [
            (["stars", "title", "owner"], nil),
            (["stars", "title", "owner", "stars"], .invalidValue),
            (["data"], .wrongType), (["tags"], .wrongType), (["nothing"], .invalidValue),
        ] as [([String], ServiceError.Reason?)]
    )
    func desiredKeysAreFewAndSmall(keys: [String], reason: ServiceError.Reason?) throws {
        var info = Subscription.NotificationInfo()
        info.desiredKeys = keys
        let modify = ModifySubscriptions(saving: [try query("q") { $0.notificationInfo = info }])
        guard case .failure(let failure) = try store.modify(modify).saves[0] else {
            #expect(reason == nil)
            return
        }
        #expect(failure.code == .invalidArguments && failure.reason == reason)
    }

    @Test func onlyQueriesCarryFields() throws {
        var info = Subscription.NotificationInfo()
        info.desiredKeys = ["stars"]
        for kind in [zoneKind, .database(recordType: "Note")] {
            let subscription = Subscription(id: "s", kind: kind, notificationInfo: info)
            #expect(try failure(subscription)?.code == .invalidArguments)
        }
    }

    // MARK: Limits

    @Test func theLimitCountsThoseOfAUserInADatabase() throws {
        func save(
            _ number: Int,
            in database: DatabaseScope = .private,
            by caller: Caller = .alice
        ) throws -> ModifyOutcome.Failure? {
            let subscription = try query("q\(number)", "stars > \(number)")
            var modify = ModifySubscriptions(in: database, saving: [subscription])
            modify.limits.subscriptionsPerDatabase = 2
            guard case .failure(let failure) = try store.modify(modify, by: caller).saves[0] else {
                return nil
            }
            return failure
        }
        #expect(try save(1) == nil)
        #expect(try save(2) == nil)
        let failure = try save(3)
        #expect(failure?.code == .limitExceeded && failure?.reason == .tooManyItems)
        #expect(failure?.message.contains("at most 2 ") == true)
        #expect(try save(2) == nil)
        #expect(try save(3, in: .public) == nil)
        #expect(try save(3, by: .bob) == nil)
        try store.modify(ModifySubscriptions(deleting: ["q1"]))
        #expect(try save(3) == nil)
    }

    @Test func oneThatIsTooLargeIsRefused() throws {
        func failure(_ length: Int) throws -> ModifyOutcome.Failure? {
            let text = String(repeating: "x", count: length)
            return try self.failure(try query("q\(length)", "title == '\(text)'"))
        }
        #expect(try failure(17 << 10)?.code == .limitExceeded)
        #expect(try failure(17 << 10)?.reason == .tooLarge)
        let text = String(repeating: "x", count: 15 << 10)
        #expect(try save(query("q", "title == '\(text)'")) == [nil])
    }

    /// A feed reads all subscriptions when it begins.
    @Test func whatAllTakeTogetherIsBounded() throws {
        let text = String(repeating: "x", count: 15 << 10)
        var refused = 0
        for number in 0..<80 {
            let failure = try refusal(try query("q\(number)", "title == '\(number)\(text)'"))
            if let failure {
                #expect(failure.code == .limitExceeded && failure.reason == .tooLarge)
                refused += 1
            }
        }
        #expect((10..<20).contains(refused))
        // A subscription may be replaced by a smaller one.
        #expect(try save(query("q1", "stars > 1")) == [nil])
    }

    /// Each change of a record searches its texts and lists once for each of these comparisons.
    @Test func whatLooksThroughTextsAndListsIsBounded() throws {
        func subscription(_ id: String, _ count: Int) throws -> Subscription {
            let searches = (0..<count).map { "tags CONTAINS 'w\($0)'" }
            return try query(id, searches.joined(separator: " AND "))
        }
        #expect(try refusal(subscription("a", 101))?.code == .limitExceeded)
        #expect(try refusal(subscription("a", 60)) == nil)
        #expect(try refusal(subscription("b", 41))?.reason == .tooManyItems)
        #expect(try refusal(subscription("b", 40)) == nil)
        #expect(try refusal(subscription("c", 1)) != nil)
        #expect(try save(query("d", "stars > 1")) == [nil])
        #expect(try store.modify(ModifySubscriptions(deleting: ["a"])).codes == [nil])
        #expect(try refusal(subscription("c", 1)) == nil)
    }

    @Test func tooManyItemsInARequestAreRefused() throws {
        var modify = ModifySubscriptions(saving: [try query("a")], deleting: ["b", "c"])
        modify.limits.itemsPerRequest = 2
        let error = try #require(throws: ServiceError.self) { try store.modify(modify) }
        #expect(error.code == .limitExceeded)
        #expect(try ids() == [])
    }
}

extension Subscription.NotificationInfo {
    fileprivate var withoutKeys: Self {
        var info = self
        info.desiredKeys = []
        return info
    }
}
