// Followers who ask the same of the same state get the same bytes, and never the bytes of an older
// state.

import CumulusModel
import CumulusOperations
import CumulusStorage
import Testing

@testable import CumulusNode

@Suite struct CommonPagesTests {
    private let pages = CommonPages<FollowChanges.Question, FollowedPage>(
        size: { _, page in page.message.count },
        isShared: { !$0.isPersonal }
    )

    private static func token(_ seq: UInt64) -> ChangeToken {
        var vector = VersionVector()
        vector[Incarnation(1)] = seq
        return ChangeToken(
            scope: .cluster,
            subject: .zones(of: .public),
            base: vector,
            seen: vector,
            truncation: HybridTime(0)
        )
    }

    private static func question(_ seq: UInt64, limit: Int = 10) -> FollowChanges.Question? {
        let fetch = FetchDatabaseChanges(database: .public, since: nil, limit: limit)
        var follower = FollowChanges(.database(fetch))
        _ = follower.take(isEmpty: true, token: token(seq), with: UserRoles())
        return follower.question(by: Caller(role: .anonymous), with: UserRoles())
    }

    /// The bytes that come, of a page that would be read now as `message`.
    private func ask(
        _ question: FollowChanges.Question?,
        at version: UInt64,
        _ message: Bytes
    ) throws -> Bytes {
        try pages.answer(question, at: version) {
            FollowedPage(token: Self.token(9), isEmpty: false, message: message)
        }.message
    }

    @Test func theSameQuestionHasTheSameAnswer() throws {
        #expect(try ask(Self.question(1), at: 5, [1]) == [1])
        #expect(try ask(Self.question(1), at: 5, [2]) == [1])
        #expect(try ask(Self.question(2), at: 5, [3]) == [3])
        #expect(try ask(Self.question(1, limit: 3), at: 5, [4]) == [4])
    }

    @Test func anOlderStateAnswersNobody() throws {
        #expect(try ask(Self.question(1), at: 5, [1]) == [1])
        #expect(try ask(Self.question(1), at: 6, [2]) == [2])
        // A follower with the version of an older state reads its own page.
        #expect(try ask(Self.question(1), at: 5, [3]) == [3])
        #expect(try ask(Self.question(1), at: 6, [4]) == [2])
    }

    @Test func whatNobodySharesIsNotKept() throws {
        #expect(try ask(nil, at: 5, [1]) == [1])
        #expect(try ask(nil, at: 5, [2]) == [2])
    }

    /// Only the creators may read these records: another follower with the same question reads its
    /// own.
    @Test func whatIsToldToOneCallerIsNotKept() throws {
        let personal = try pages.answer(Self.question(1), at: 5) {
            FollowedPage(token: Self.token(9), isEmpty: false, message: [1], isPersonal: true)
        }
        #expect(personal.message == [1])
        #expect(try ask(Self.question(1), at: 5, [2]) == [2])
    }

    @Test func theyAreBounded() throws {
        let large = Bytes(repeating: 1, count: 3 << 20)
        for seq in UInt64(1)...3 { _ = try ask(Self.question(seq), at: 5, large) }
        #expect(try ask(Self.question(1), at: 5, [1]).count == large.count)
        #expect(try ask(Self.question(3), at: 5, [1]) == [1])
    }

    /// Questions take memory too: 20,000 empty answers would be 10 MB.
    @Test func emptyAnswersAreBounded() throws {
        for seq in UInt64(1)...20_000 { _ = try ask(Self.question(seq), at: 5, []) }
        #expect(try ask(Self.question(1), at: 5, [1]) == [])
        #expect(try ask(Self.question(20_000), at: 5, [1]) == [1])
    }

    /// A first page is read for its caller alone: whether it may see it is not known before.
    @Test func aFollowerWithoutAPageSharesNothing() {
        let fetch = FetchDatabaseChanges(database: .public, since: Self.token(1), limit: 1)
        let follower = FollowChanges(.database(fetch))
        #expect(follower.question(by: Caller(role: .anonymous), with: UserRoles()) == nil)
    }
}
