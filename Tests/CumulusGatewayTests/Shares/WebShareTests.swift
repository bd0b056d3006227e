// What the record of a share says of its participants, without a node.

import CumulusGateway
import CumulusModel
import Testing

@Suite struct WebShareTests {
    private static let owner = "_" + String(repeating: "0a", count: 16)
    private static let guest = "_" + String(repeating: "0b", count: 16)

    /// The share as a caller sees it.
    private func details(_ caller: String) -> ShareDetails {
        ShareDetails(
            root: "a",
            participants: [
                .init(
                    id: [1],
                    user: Self.guest,
                    permission: .readWrite,
                    status: .accepted,
                    isCaller: caller == Self.guest
                ),
                .init(id: [2], handle: .init(kind: 1, text: "c@example.org")),
            ],
            owner: Self.owner,
            url: "cumulus:/share/abc"
        )
    }

    private func members(_ details: ShareDetails, _ caller: String) -> JSON {
        .object(WebShare.members(of: details, user: caller))
    }

    private func participants(_ json: JSON) -> [JSON] {
        guard case .array(let participants)? = json["participants"] else { return [] }
        return participants
    }

    /// The owner, a participant, another user, and nobody.
    @Test(arguments: [owner, guest, "_" + String(repeating: "0c", count: 16), ""])
    func theOwnerComesFirst(caller: String) throws {
        let json = members(details(caller), caller)
        let list = participants(json)
        #expect(list.count == 3)
        let first = try #require(list.first)
        #expect(first == json["owner"])
        #expect(first["type"] == "OWNER" && first["permission"] == "READ_WRITE")
        #expect(first["acceptanceStatus"] == "ACCEPTED")
        #expect(first["userIdentity"]?["userRecordName"] == .string(Self.owner))
        let ids = list.compactMap { $0["participantId"]?.string }
        #expect(Set(ids).count == 3 && ids.allSatisfy { Bytes(hex: $0)?.isEmpty == false })
        let own = json["currentUserParticipant"]
        switch caller {
        case Self.owner: #expect(own == first)
        case Self.guest: #expect(own == list[1])
        default: #expect(own == nil)
        }
    }

    /// What a node left out of a new share's record is the caller.
    @Test func anOwnerWithoutANameIsTheCaller() {
        var details = details(Self.owner)
        details.owner = ""
        let json = members(details, Self.owner)
        #expect(json["owner"]?["userIdentity"]?["userRecordName"] == .string(Self.owner))
        #expect(json["currentUserParticipant"] == json["owner"])
    }

    /// A save that sends the list back changes nothing.
    @Test(arguments: [owner, guest])
    func theListCanBeSentBack(caller: String) throws {
        let stored = details(caller)
        let list = JSON.array(participants(members(stored, caller))).text
        let object = try WebObject(body: Bytes(#"{"participants": \#(list)}"#.utf8))
        let again = try WebShareRequest(object, for: caller).details(over: stored).participants
        #expect(again.map(\.id) == stored.participants.map(\.id))
        #expect(again.map(\.user) == stored.participants.map(\.user))
        #expect(again.map(\.handle) == stored.participants.map(\.handle))
        #expect(again.map(\.role) == stored.participants.map(\.role))
        #expect(again.map(\.permission) == stored.participants.map(\.permission))
    }

    /// The constants of CloudKit JS, with which apps compare; a request may have each of them.
    @Test func theWordsAreThoseOfTheLibrary() throws {
        let types = ["OWNER", "ADMINISTRATOR", "PRIVATE_USER", "PUBLIC_USER"]
        let states = ["UNKNOWN", "PENDING", "ACCEPTED", "REMOVED"]
        let permissions = ["NONE", "READ_ONLY", "READ_WRITE"]
        for role in ShareParticipant.Role.allCases {
            for status in ShareParticipant.AcceptanceStatus.allCases {
                for permission in ShareParticipant.Permission.allCases {
                    var details = details("")
                    details.participants = [
                        .init(id: [1], role: role, permission: permission, status: status)
                    ]
                    let json = try #require(participants(members(details, "")).last)
                    #expect(types.contains(json["type"]?.string ?? ""), "\(json.text)")
                    #expect(states.contains(json["acceptanceStatus"]?.string ?? ""))
                    #expect(permissions.contains(json["permission"]?.string ?? ""))
                    let body = Bytes(#"{"participants": [\#(json.text)]}"#.utf8)
                    _ = try WebShareRequest(try WebObject(body: body), for: "")
                }
            }
        }
    }
}
