// What records/modify plans for each kind of operation, over what is stored; without a node.

import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct WebModifyTests {
    private static let zone = RecordZone.ID(zoneName: "Notes")
    private static let id = Record.ID(recordName: "a", zoneID: zone)
    private static let columns: [String: [String: FieldType]] = [
        "Note": ["title": .one(.string), "stars": .one(.int64), "old": .one(.string)]
    ]

    /// A stored record with that name and a tag.
    private func stored(tag: String) -> Record {
        var record = Record(recordType: "Note", recordID: Self.id)
        record["title"] = "Milk"
        record["old"] = "x"
        record.recordChangeTag = tag
        return record
    }

    private func modify(_ operations: String, atomic: Bool = true) throws -> WebModify {
        let text = """
            {"zoneID": {"zoneName": "Notes"}, "atomic": \(atomic), "operations": [\(operations)]}
            """
        return try WebModify(try WebObject(try JSONReader.read(text.utf8)), for: "_1") { "made" }
    }

    private func operation(
        _ kind: WebOperation.Kind,
        name: String = "a",
        tag: String? = nil,
        type: String? = nil
    ) -> String {
        let tag = tag.map { #", "recordChangeTag": "\#($0)""# } ?? ""
        let type = type.map { #", "recordType": "\#($0)""# } ?? ""
        return """
            {"operationType": "\(kind.rawValue)", "record": {"recordName": "\(name)"\(tag)\(type),
             "fields": {"stars": {"value": 2}}}}
            """
    }

    private func plan(_ modify: WebModify, stored: Record?) -> WebModify.Plan {
        let missing = ServiceError(.unknownItem, "Record not found")
        let all = Array(modify.operations.indices)
        let results = modify.needed(all).map { id -> (Record.ID, Result<Record, ServiceError>) in
            guard id == Self.id, let stored else { return (id, .failure(missing)) }
            return (id, .success(stored))
        }
        return modify.plan(
            all,
            WebModify.Knowledge(
                stored: Dictionary(results) { first, _ in first },
                columns: Self.columns,
                user: "_1",
                database: .private
            )
        )
    }

    @Test func eachKindIsPlannedByWhatIsStored() throws {
        let right = stored(tag: "0a")
        for kind in WebOperation.Kind.allCases {
            let missing = plan(try modify(operation(kind, tag: "0a", type: "Note")), stored: nil)
            let same = plan(try modify(operation(kind, tag: "0a", type: "Note")), stored: right)
            let stale = plan(try modify(operation(kind, tag: "0b", type: "Note")), stored: right)
            let bare = plan(try modify(operation(kind, type: "Note")), stored: right)
            func code(_ plan: WebModify.Plan) -> WebError.Code? { plan.failures[0]?.code }
            switch kind {
            case .create:
                #expect(missing.saves.count == 1)
                #expect(missing.saves.first?.record.recordChangeTag == nil)
            case .update, .replace:
                #expect(code(missing) == .notFound)
                #expect(same.saves.first?.record.recordChangeTag == "0a")
                #expect(code(stale) == .conflict)
                #expect(code(bare) == .conflict)
            case .forceUpdate, .forceReplace:
                #expect(missing.saves.first?.record.recordChangeTag == nil)
                for plan in [same, stale, bare] {
                    #expect(plan.saves.first?.record.recordChangeTag == "0a")
                }
            case .delete:
                #expect(code(missing) == .notFound)
                #expect(same.deletes.first?.tag == "0a")
                #expect(code(stale) == .conflict)
                #expect(code(bare) == .conflict)
            case .forceDelete:
                for plan in [missing, same, stale, bare] {
                    #expect(plan.deletes.count == 1)
                    #expect(plan.deletes.first?.tag == nil)
                }
            }
        }
    }

    @Test func onlyReplacesClearWhatIsNotMentioned() throws {
        let record = stored(tag: "0a")
        let update = plan(try modify(operation(.forceUpdate)), stored: record)
        #expect(update.saves.first?.record.changedKeys() == ["stars"])
        #expect(update.saves.first?.record.recordType == "Note")
        let replace = plan(try modify(operation(.forceReplace)), stored: record)
        #expect(replace.saves.first?.record.changedKeys() == ["old", "stars", "title"])
        #expect(replace.saves.first?.record["title"] == nil)
    }

    // MARK: Without a look-up

    @Test func whatARequestSaysEnoughOfIsNotLookedUp() throws {
        func isAssumed(_ operations: String...) throws -> Bool {
            try modify(operations.joined(separator: ",")).assumption(Self.columns) != nil
        }
        for kind in WebOperation.Kind.allCases {
            let named = try isAssumed(operation(kind, tag: "0a", type: "Note"))
            // A replace clears fields that are not named.
            let isEnough = kind.needsStored && kind != .replace && kind != .forceReplace
            #expect(named == isEnough, "\(kind)")
            let bare = try isAssumed(operation(kind, tag: "0a"))
            #expect(bare == (kind == .delete), "\(kind)")
            let isForced = kind == .forceUpdate
            #expect(try isAssumed(operation(kind, type: "Note")) == isForced, "\(kind)")
        }
        for tag in ["", "0A", "0", "x", "0a ", " 0a"] {
            #expect(try !isAssumed(operation(.update, tag: tag, type: "Note")), "\(tag)")
            #expect(try !isAssumed(operation(.delete, tag: tag)), "\(tag)")
        }
        let forced = operation(.forceUpdate, name: "b", type: "Note")
        #expect(try !isAssumed(operation(.update, tag: "0a", type: "Note"), forced))
        #expect(try !isAssumed(operation(.create, type: "Note"), forced))
        #expect(try isAssumed(operation(.forceDelete), forced))
        let created = operation(.create, name: "c", type: "Note")
        #expect(try isAssumed(created, operation(.delete, tag: "0a")))
        #expect(try !isAssumed(operation(.forceUpdate, type: "cloudkit.share")))
    }

    @Test func aReplaceOfAllFieldsIsNotLookedUp() throws {
        let fields = #""title": {"value": "x"}, "stars": {"value": 2}, "old": {"value": null}"#
        func replace(_ kind: WebOperation.Kind, _ fields: String) throws -> WebModify {
            try modify(
                """
                {"operationType": "\(kind.rawValue)", "record": {"recordName": "a",
                 "recordType": "Note", "recordChangeTag": "0a", "fields": {\(fields)}}}
                """
            )
        }
        for kind in [WebOperation.Kind.replace, .forceReplace] {
            let whole = try replace(kind, fields)
            let assumption = try #require(whole.assumption(Self.columns))
            #expect(assumption.isForced == kind.isForced)
            let knowledge = WebModify.Knowledge(
                stored: assumption.stored,
                columns: Self.columns,
                user: "_1",
                database: .private
            )
            let save = try #require(whole.plan([0], knowledge).saves.first)
            #expect(save.record.changedKeys() == ["old", "stars", "title"])
            #expect(save.record.recordChangeTag == (kind.isForced ? nil : "0a"))
            let part = try replace(kind, #""title": {"value": "x"}"#)
            #expect(part.assumption(Self.columns) == nil)
        }
    }

    @Test func oneFailureTakesItsAtomicZoneWithIt() throws {
        let operations = [
            operation(.create, name: "b", type: "Note"), operation(.update, name: "c", tag: "0a"),
            operation(.forceDelete, name: "d"),
        ].joined(separator: ",")
        let atomic = plan(try modify(operations), stored: nil)
        let codes = (0..<3).map { atomic.failures[$0]?.code }
        #expect(codes == [.atomicError, .notFound, .atomicError])
        #expect(atomic.saves.isEmpty && atomic.deletes.isEmpty)
        let single = plan(try modify(operations, atomic: false), stored: nil)
        #expect(single.failures.count == 1)
        #expect(single.saves.count + single.deletes.count == 2)
    }

    /// However its zone is written, a record has one address.
    @Test func aZoneHasOneNameAndARecordOccursOnce() throws {
        func named(_ zone: String) -> String {
            """
            {"operationType": "forceUpdate", "record": {"recordName": "a", "recordType": "Note",
             "zoneID": \(zone), "fields": {"stars": {"value": 2}}}}
            """
        }
        let spellings = [
            "null", #"{"zoneName": "Notes"}"#,
            #"{"zoneName": "Notes", "ownerRecordName": "_1"}"#,
            #"{"zoneName": "Notes", "ownerName": "_1", "zoneType": "REGULAR_CUSTOM_ZONE"}"#,
            #"{"zoneName": "Notes", "ownerRecordName": "__defaultOwner__"}"#,
            #"{"zoneName": "Notes", "ownerRecordName": "_defaultOwner", "ownerName": "_1"}"#,
        ]
        for spelling in spellings {
            #expect(try modify(named(spelling)).operations.map(\.id) == [Self.id], "\(spelling)")
            let twice = named(spelling) + "," + operation(.create, type: "Note")
            #expect(throws: WebError.self, "\(spelling)") { try modify(twice) }
        }
        let other = named(#"{"zoneName": "Notes", "ownerRecordName": "_2"}"#)
        #expect(try modify(other).operations.map(\.id) != [Self.id])
        let two = named(#"{"zoneName": "Notes", "ownerRecordName": "_2", "ownerName": "_1"}"#)
        #expect(throws: WebError.self) { try modify(two) }
    }

    @Test func anAtomicRequestIsOfOneZone() throws {
        let elsewhere = """
            {"operationType": "forceDelete",
             "record": {"recordName": "a", "zoneID": {"zoneName": "Other"}}}
            """
        let operations = operation(.create, type: "Note") + "," + elsewhere
        let atomic = plan(try modify(operations), stored: nil)
        #expect(atomic.saves.isEmpty && atomic.deletes.isEmpty)
        #expect(atomic.failures.values.map(\.code) == [.badRequest, .badRequest])
        let single = plan(try modify(operations, atomic: false), stored: nil)
        #expect(single.saves.count == 1 && single.deletes.count == 1)
    }

    /// The operations that go on after the node refused some, with the errors of the others.
    @Test func anAtomicRequestGoesOnAsAWholeOrNotAtAll() throws {
        let operations = [
            operation(.forceUpdate, name: "a"), operation(.update, name: "b", tag: "0a"),
            operation(.forceDelete, name: "c"),
        ].joined(separator: ",")
        let late = ServiceError(.serverRecordChanged, "changed")
        let sibling = ServiceError(.batchRequestFailed, "with the others")
        let file = ServiceError(.assetNotAvailable, .assetIncomplete, "not here")
        let (atomic, single) = (try modify(operations), try modify(operations, atomic: false))
        func codes(_ failures: [Int: WebError]) -> [Int: WebError.Code] {
            failures.mapValues(\.code)
        }
        // Somebody was ahead of the forced one only.
        let all = atomic.judge([0: late, 1: sibling, 2: sibling], in: .private)
        #expect(all.again == [0, 1, 2] && all.failures.isEmpty)
        let one = single.judge([0: late], in: .private)
        #expect(one.again == [0] && one.failures.isEmpty)
        // Another one fails for good: the forced one must not be done without it.
        let over = atomic.judge([0: late, 1: late, 2: sibling], in: .private)
        #expect(over.again.isEmpty)
        #expect(codes(over.failures) == [0: .atomicError, 1: .conflict, 2: .atomicError])
        let rest = single.judge([0: late, 1: late], in: .private)
        #expect(rest.again == [0] && codes(rest.failures) == [1: .conflict])
        // A file came meanwhile, or didn't.
        let come = atomic.judge([0: sibling, 1: file, 2: sibling], fetched: [1], in: .private)
        #expect(come.again == [0, 1, 2])
        let gone = atomic.judge([0: sibling, 1: file, 2: sibling], in: .private)
        #expect(gone.again.isEmpty)
        #expect(codes(gone.failures) == [0: .atomicError, 1: .badRequest, 2: .atomicError])
        #expect(atomic.judge([:], in: .private).again.isEmpty)
    }

    @Test func typesAndFieldsMustBeKnown() throws {
        let unknown = plan(try modify(operation(.create, type: "No")), stored: nil)
        #expect(unknown.failures[0]?.code == .notFound)
        #expect(plan(try modify(operation(.create)), stored: nil).failures[0]?.code == .badRequest)
        let share = plan(try modify(operation(.create, type: "cloudKit.share")), stored: nil)
        #expect(share.failures[0]?.code == .badRequest)
        let field = """
            {"operationType": "create", "record": {"recordName": "a", "recordType": "Note",
             "fields": {"no": {"value": 1}}}}
            """
        #expect(plan(try modify(field), stored: nil).failures[0]?.code == .badRequest)
    }

    @Test(arguments: [
        #"{"operationType": "what", "record": {"recordName": "a"}}"#,
        #"{"operationType": "update", "record": {}}"#, #"{"operationType": "update"}"#,
        #"{"operationType": "forceDelete", "record": {}}"#, "5", #"{"record": {}}"#,
    ])
    func whatIsNoOperationIsRefused(_ text: String) {
        #expect {
            try modify(text)
        } throws: {
            ($0 as? WebError)?.code == .badRequest
        }
    }
}

@Suite struct QueryMarkerTests {
    @Test func itReadsBackAndNothingElseDoes() throws {
        for keys in [nil, [], ["a", "Grüße"]] as [[String]?] {
            let marker = QueryMarker(cursor: [1, 2, 3], keys: keys)
            let content = marker.content
            #expect(try QueryMarker(content) == marker)
            for cut in Damage.truncations(of: content).dropFirst() {
                #expect(throws: WebError.self) { try QueryMarker(cut) }
            }
            #expect(throws: WebError.self) { try QueryMarker(content + [0]) }
            let tokened = QueryMarker(cursor: [1, 2, 3], keys: keys, syncToken: "AAEC")
            #expect(try QueryMarker(tokened.content) == tokened)
            #expect(throws: WebError.self) { try QueryMarker(tokened.content + [0]) }
            var dice = SeededGenerator(seed: 9)
            for _ in 0..<500 {
                _ = try? QueryMarker(Damage.mutation(of: content, using: &dice))
            }
        }
        #expect(try QueryMarker([]).cursor.isEmpty)
    }
}
