// Roles of users in streams of changes and in feeds: what is told, when streams end, what is
// shared.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct RoleChangesTests: RoleTesting {
    let bed: RoleTestBed

    init() throws { bed = try RoleTestBed() }

    private func changes(
        since token: ChangeToken? = nil,
        by caller: Caller
    ) throws -> FetchZoneChanges.Page {
        try bed.changes(since: token, by: caller)
    }

    // MARK: Changes

    @Test func aFollowerBeginsAnewWhenItsRolesChangeWhatItMayRead() throws {
        #expect(try save("r", "Report", by: guest) == nil)
        var token = try changes(by: mod).token
        func expectEnd() throws {
            let error = try #require(throws: ServiceError.self) {
                try changes(since: token, by: mod)
            }
            #expect(error.code == .changeTokenExpired)
            token = try changes(by: mod).token
            token = try changes(since: token, by: mod).token
        }
        try set("Editor", of: "mod")
        try expectEnd()
        // Editors may read the record already.
        try set("Moderator", of: "mod")
        token = try changes(since: token, by: mod).token
        try set("Moderator", of: "mod", given: false)
        token = try changes(since: token, by: mod).token
        try set("Editor", of: "mod", given: false)
        try expectEnd()
        #expect(try changes(by: mod).records.isEmpty)
        // A role that is given and taken between two pages may have shown something elsewhere.
        try set("Editor", of: "mod")
        try set("Editor", of: "mod", given: false)
        try expectEnd()
    }

    @Test func othersRolesEndNoStream() throws {
        #expect(try save("r", "Report", by: guest) == nil)
        let token = try changes(by: editor).token
        try set("Moderator", of: "mod")
        #expect(throws: Never.self) { try changes(since: token, by: editor) }
    }

    @Test func aFollowerBeginsAnewWhenTheSchemaDropsItsRole() throws {
        #expect(try save("r", "Report", by: guest) == nil)
        try set("Editor", of: "editor")
        let token = try changes(by: editor).token
        try bed.dropRole("Editor")
        let error = try #require(throws: ServiceError.self) {
            try changes(since: token, by: editor)
        }
        #expect(error.code == .changeTokenExpired)
    }

    /// A follower whose roles changed reads a page of its own first, which may be its end.
    @Test func callersWithEqualRolesSharePages() throws {
        let scope = try store.scopeNumber()
        func roles(_ caller: Caller) throws -> UserRoles {
            try SchemaDirectory().roles(of: caller, in: scope, store.reader)
        }
        let token = try changes(by: guest).token
        func follower(of caller: Caller) throws -> FollowChanges {
            var follower = FollowChanges(.zone(bed.fetchChanges(since: nil)))
            #expect(follower.dependsOnRoles)
            _ = follower.take(isEmpty: true, token: token, with: try roles(caller))
            return follower
        }
        try set("Editor", of: "editor")
        try set("Editor", of: "mod")
        let one = try follower(of: editor)
        let asked = try #require(one.question(by: editor, with: try roles(editor)))
        #expect(try follower(of: mod).question(by: mod, with: try roles(mod)) == asked)
        let other = try follower(of: guest)
        let others = try #require(other.question(by: guest, with: try roles(guest)))
        #expect(others != asked)
        try set("Editor", of: "guest")
        #expect(other.question(by: guest, with: try roles(guest)) == nil)
        #expect(try follower(of: guest).question(by: guest, with: try roles(guest)) == asked)
    }

    @Test func aFeedTellsThoseWhoseRolesMayRead() throws {
        let subscription = Subscription(
            id: "all",
            kind: .query(recordType: "Report", predicate: .field("n") > Int64(0)),
            options: .standard
        )
        let modify = ModifySubscriptions(in: .public, saving: [subscription])
        let callers = [mod, editor, guest]
        for caller in callers { #expect(try store.modify(modify, by: caller).codes == [nil]) }
        try set("Moderator", of: "mod")
        var fetches = callers.map { _ in
            FetchFeed(since: nil, run: store.state.incarnation, environment: .development)
        }
        func told() throws -> [Int] {
            try callers.indices.map { index in
                let page = try fetches[index].run(
                    store.scope,
                    store.scopeNumber(),
                    by: callers[index],
                    in: store.reader
                )
                (fetches[index].token, fetches[index].position) = (page.token, page.lastPosition)
                return page.news.count
            }
        }
        _ = try told()
        let writer = try store.addUser("writer", 9)
        #expect(try save("r", "Report", by: writer) == nil)
        #expect(try told() == [1, 0, 0])
        try set("Editor", of: "editor")
        #expect(try save("r", "Report", by: writer) == nil)
        #expect(try told() == [1, 1, 0])
        try set("Moderator", of: "mod", given: false)
        #expect(try save("r", "Report", by: writer) == nil)
        #expect(try told() == [0, 1, 0])
    }

    /// Otherwise the firing would be lost with a change that nobody is told of.
    @Test func aSubscriptionFiresOnceOnWhatRolesMayRead() throws {
        let subscription = Subscription(
            id: "once",
            kind: .query(recordType: "Report", predicate: .field("n") > Int64(0)),
            options: [.firesOnRecordCreation, .firesOnce]
        )
        let modify = ModifySubscriptions(in: .public, saving: [subscription])
        #expect(try store.modify(modify, by: mod).codes == [nil])
        func hasFired() throws -> Bool {
            let scope = try store.scopeNumber()
            return try store.reader.subscriptions(in: scope, of: mod.user).first?.fired != nil
        }
        #expect(try save("a", "Report", by: guest) == nil)
        #expect(try !hasFired())
        try set("Moderator", of: "mod")
        #expect(try save("b", "Report", by: guest) == nil)
        #expect(try hasFired())
    }
}
