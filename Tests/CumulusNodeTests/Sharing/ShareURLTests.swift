// The URLs of shares, and what saves say of participants: what a node makes of them before it looks
// into its store.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire
import Testing

@testable import CumulusNode

@Suite struct ShareURLTests {
    private let urls = ShareURLs(
        prefix: "https://example.org",
        secret: Bytes(repeating: 7, count: 32)
    )

    private func view(_ share: Bytes) -> RecordView {
        var view = RecordView(
            name: "share",
            type: Names.shareType,
            changeTag: [],
            created: 0,
            createdBy: "",
            modified: 0,
            modifiedBy: ""
        )
        view.sharing = RecordView.Sharing(share: share, details: ShareDetails(root: ""))
        return view
    }

    private func code(of body: () throws -> Void) -> ServiceError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? ServiceError)?.code
        }
    }

    @Test func aURLLeadsBackToItsShare() throws {
        let share = Bytes(1...16)
        let url = urls.url(of: view(share))
        #expect(url.hasPrefix("https://example.org/share/") && url.utf8.count == 26 + 22)
        #expect(try urls.share(at: Bytes(url.utf8)).bytes == share)
        // Another node of the cluster has another prefix.
        let other = ShareURLs(prefix: "notes:", secret: urls.secret)
        #expect(try other.share(at: Bytes(url.utf8)).bytes == share)
        #expect(other.url(of: view(share)).hasSuffix(url.suffix(22)))
        #expect(try urls.share(at: Bytes("\(url)?from=mail#top".utf8)).bytes == share)
        // The record is not a share's.
        var plain = view(share)
        plain.sharing = nil
        #expect(urls.url(of: plain).isEmpty)
    }

    @Test func aURLThatSomebodyMadeUpNamesNoShare() throws {
        let url = urls.url(of: view(Bytes(1...16)))
        for character in ["A", "B", "z", "_"] where !url.hasSuffix("\(character)A") {
            let changed = "\(url.dropLast(2))\(character)A"
            let found = try? urls.share(at: Bytes(changed.utf8))
            #expect(found?.bytes != Bytes(1...16))
        }
        let stranger = ShareURLs(prefix: urls.prefix, secret: Bytes(repeating: 8, count: 32))
        #expect(try stranger.share(at: Bytes(url.utf8)).bytes != Bytes(1...16))
    }

    @Test(arguments: [
        "", "https://example.org/share/", "https://example.org/share/short", "AAAA",
        "https://example.org/share/AQIDBAUGBwgJCgsMDQ4PE%", "\u{0}",
    ])
    func whatIsNoURLIsRefused(text: String) {
        #expect(code { _ = try urls.share(at: Bytes(text.utf8)) } == .invalidArguments)
        #expect(code { _ = try urls.share(at: [0xFF, 0xFE]) } == .invalidArguments)
    }

    // MARK: Participants

    private static let user = "_0123456789abcdef0123456789abcdef"

    /// What a node reads of a share with these participants.
    private func members(
        _ participants: [ShareDetails.Participant]
    ) throws -> [WantedShare.Member] {
        var record = Record(recordType: Names.shareType, recordID: Record.ID(recordName: "s"))
        record["cloudkit.title"] = "Trips"
        record.shareDetails = ShareDetails(root: "oslo", participants: participants)
        let message = ModifyRecordsRequest(
            database: .private,
            policy: 0,
            isAtomic: true,
            saves: [record.encodedSave(allKeys: false)],
            deletes: []
        ).encoded()
        let parser = RequestParser(caller: Caller(role: .user(Self.user)), limits: .standard)
        let save = try #require(try parser.modifyRecords(message).saves.first)
        let parts = try #require(try save.content.get().share)
        #expect(parts.root == "oslo" && parts.publicPermission == .none)
        return parts.members
    }

    @Test func participantsAreKnownByWhatTheyWereInvitedBy() throws {
        let handle = ShareDetails.Participant.Handle(kind: 1, text: "Ada@example.org")
        let ada = ParticipantID(try Handle(.email, Bytes("ada@example.org".utf8)))
        let bob = ParticipantID(user: Self.user)
        let found = try members([
            .init(handle: handle, role: .administrator, permission: .readWrite),
            .init(user: Self.user), .init(user: Names.currentUser),
            // One who accepted by a handle has a user record name too.
            .init(id: ada.wholeBytes, user: Self.user, handle: handle), .init(id: bob.wholeBytes),
        ])
        #expect(found.map(\.id) == [ada, bob, bob, ada, bob])
        #expect(
            found.map(\.name) == ["ada@example.org", Self.user, Self.user, "ada@example.org", ""]
        )
        #expect(found[0].role == .administrator && found[0].permission == .readWrite)
        #expect(found[1].role == .privateUser && found[1].permission == .readOnly)
    }

    @Test func participantsWhoAreNobodyAreRefused() throws {
        let bob = ParticipantID(user: Self.user).wholeBytes
        let wrong: [ShareDetails.Participant] = [
            .init(), .init(user: "bob"), .init(id: [1, 2, 3]), .init(id: [9] + bob.dropFirst()),
            .init(handle: .init(kind: 1, text: "ada")), .init(handle: .init(kind: 7, text: "+1")),
            .init(id: bob, user: "_00000000000000000000000000000000"),
        ]
        for participant in wrong {
            #expect(code { _ = try members([participant]) } == .invalidArguments, "\(participant)")
        }
    }

    /// Fields whose names begin with "cloudkit." are for shares only.
    @Test func namesOfSharesAreForShares() throws {
        func code(_ type: String, _ field: String) throws -> ServiceError.Code? {
            var record = Record(recordType: type, recordID: Record.ID(recordName: "s"))
            record[field] = "x"
            let message = ModifyRecordsRequest(
                database: .private,
                policy: 0,
                isAtomic: true,
                saves: [record.encodedSave(allKeys: false)],
                deletes: []
            ).encoded()
            let parser = RequestParser(caller: Caller(role: .user(Self.user)), limits: .standard)
            let save = try #require(try parser.modifyRecords(message).saves.first)
            return self.code { _ = try save.content.get() }
        }
        #expect(try code("cloudkit.share", "cloudkit.title") == nil)
        #expect(try code("cloudkit.share", "mood") == nil)
        #expect(try code("Note", "cloudkit.title") == .invalidArguments)
        #expect(try code("cloudkit.other", "mood") == .invalidArguments)
        #expect(try code("cloudkit.share", "cloudkit.") == .invalidArguments)
        #expect(try code("cloudkit.share", "cloudkit.a.b") == .invalidArguments)
    }
}
