// Canonical forms of predicates: equivalent predicates have one form, and each form still means the
// same.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct CanonicalPredicateTests {
    private func store() throws -> TestStore {
        let store = try TestStore()
        try store.save([
            SaveItem(
                "n",
                [
                    "i": 1, "d": 0.5, "s": "a", "r": .link("x"), "li": [1], "ls": ["a"],
                    "p": .location(Location(latitude: 1, longitude: 2)),
                ]
            )
        ])
        return store
    }

    private func canonical(
        _ predicate: Query.Predicate,
        _ store: TestStore,
        for user: String = "_alice"
    ) throws -> Query.Predicate {
        let schema = try store.reader.typeSchema(try store.scopeNumber(), "Note")
        return predicate.canonical(in: schema, for: user)
    }

    @Test(arguments: [
        ("i == 1 AND s == 'a'", "s == 'a' AND i == 1"),
        ("i == 1 AND (s == 'a' AND d > 1)", "(d > 1.0 AND i == 1) AND s == 'a'"),
        ("i == 1 AND i == 1", "i == 1"), ("TRUEPREDICATE AND i == 1", "i == 1"),
        ("TRUEPREDICATE AND TRUEPREDICATE", "TRUEPREDICATE"),
        ("i IN {3, 1, 2, 1}", "i IN {1, 2, 3}"), ("i IN {1, 1}", "i == 1"),
        ("NOT (i IN {2, 1})", "NOT (i IN {1, 2})"),
        ("s == 'b' AND NOT (i == 1)", "NOT (i == 1) AND s == 'b'"),
        ("ANY li IN {2, 1}", "ANY li IN {1, 2}"), ("ANY li IN {2}", "li CONTAINS 2"),
        ("d == 1", "d == 1.0"), ("d == -0.0", "d == 0"), ("d IN {1, 1.0}", "d == 1"),
        ("r == 'x'", "r == REFERENCE('x', 'deleteSelf')"),
        ("creationDate > now()", "___createTime > now()"),
        ("recordID == 'x'", "___recordID == REFERENCE('x')"),
        ("creatorUserRecordID == '__defaultOwner__'", "creatorUserRecordID == '_alice'"),
        (
            "distanceToLocation:fromLocation:(p, LOCATION(1, 2, altitude: 3)) < 5",
            "distanceToLocation:fromLocation:(p, LOCATION(1, 2)) < 5.0"
        ),
        ("i IN {2, 1} OR d == 1", "i IN {1, 2} OR d == 1.0"),
    ]) func whatSaysTheSameHasOneForm(left: String, right: String) throws {
        let store = try store()
        let forms = try [left, right].map {
            try canonical(try Query.Predicate(format: $0), store)
        }
        #expect(forms[0] == forms[1])
        let stored = forms.map {
            Subscription(id: "s", kind: .query(recordType: "Note", predicate: $0)).storedBytes
        }
        #expect(stored[0] == stored[1])
    }

    @Test(arguments: [
        ("i == 1", "i == 2"), ("i == 1", "NOT (i == 1)"), ("i == 1", "i != 1"),
        ("i == 1 AND s == 'a'", "i == 1"), ("s == '1'", "i == 1"), ("i == 1", "d == 1"),
        ("s == '__defaultOwner__'", "s == '_alice'"), ("s == 'é'", "s == 'e\u{301}'"),
        ("i == 1 OR s == 'a'", "i == 1 AND s == 'a'"), ("li CONTAINS 1", "i == 1"),
        ("TRUEPREDICATE", "FALSEPREDICATE"), ("s BEGINSWITH 'a'", "s == 'a'"),
        ("self CONTAINS 'a b'", "allTokens TOKENMATCHES[cdl] 'a b'"),
    ]) func whatSaysSomethingElseHasAnother(left: String, right: String) throws {
        let store = try store()
        let forms = try [left, right].map {
            try canonical(try Query.Predicate(format: $0), store)
        }
        #expect(forms[0] != forms[1])
    }

    @Test func theCallerOfOneIsNotThatOfAnother() throws {
        let store = try store()
        let mine = try Query.Predicate(format: "creatorUserRecordID == '__defaultOwner__'")
        #expect(try canonical(mine, store) != canonical(mine, store, for: "_bob"))
    }

    /// 1,000 random predicates find the same among 60 random records in both forms, and the
    /// canonical form of a canonical predicate is the predicate itself.
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func aCanonicalPredicateFindsTheSame(seed: UInt64) throws {
        var random = RandomQueries(dice: SeededGenerator(seed: seed))
        let store = try TestStore(seed: seed)
        // An empty list can't be the first value of a field.
        for number in 0..<60 {
            let fields = random.fields().filter { $0.value != .list([]) }
            try store.save([SaveItem("r\(number)", fields.mapValues { $0 })])
        }
        var (found, changed) = (0, 0)
        for _ in 0..<250 {
            var query = random.query()
            query.sortDescriptors = []
            let names = try store.query(query, limit: 400).records.map(\.record.name)
            let before = query.predicate
            query.predicate = try canonical(before, store)
            #expect(
                try store.query(query, limit: 400).records.map(\.record.name) == names,
                "\(before) became \(query.predicate)"
            )
            #expect(try canonical(query.predicate, store) == query.predicate)
            found += names.count
            changed += before == query.predicate ? 0 : 1
        }
        #expect(found > 500 && changed > 50)
    }
}
