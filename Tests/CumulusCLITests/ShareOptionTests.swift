// How commands read whom a share lets in, and how they show a share.

import ArgumentParser
import Cumulus
import CumulusModel
import Foundation
import Testing

@testable import CumulusCLI

@Suite struct ShareOptionTests {
    private func parse<Command: ParsableCommand>(
        _ words: String...,
        as type: Command.Type
    ) throws -> Command {
        try #require(try Main.parseAsRoot(["share"] + words) as? Command)
    }

    @Test func peopleAreNamedInThreeWays() throws {
        let user = "_0123456789abcdef0123456789abcdef"
        let create = try parse(
            "create",
            "Trips",
            "--reader",
            "ada@example.org",
            "--writer",
            "+49301234567",
            "--administrator",
            user,
            "--title",
            "Our trips",
            as: ShareCommand.Create.self
        )
        #expect(create.zone == "Trips" && create.title == "Our trips" && create.root == nil)
        #expect(create.publicPermission == .none)
        var share = Share(recordZoneID: RecordZone.ID(zoneName: "Trips"))
        create.invitations.add(to: &share)
        let people = share.participants
        #expect(people.map(\.role) == [.privateUser, .privateUser, .administrator])
        #expect(people.map(\.permission) == [.readOnly, .readWrite, .readWrite])
        #expect(people[0].lookupInfo == .emailAddress("ada@example.org"))
        #expect(people[1].lookupInfo == .phoneNumber("+49301234567"))
        #expect(people[2].userRecordID?.recordName == user && people[2].lookupInfo == nil)
    }

    /// Naming a user again changes its permission and adds no second participant.
    @Test func whoIsNamedTwiceIsOneParticipant() throws {
        let add = try parse(
            "add",
            "Trips",
            "--reader",
            "ada@example.org",
            "--writer",
            "ada@example.org",
            as: ShareCommand.Add.self
        )
        var share = Share(recordZoneID: RecordZone.ID(zoneName: "Trips"))
        add.invitations.add(to: &share)
        #expect(share.participants.map(\.permission) == [.readWrite])
    }

    @Test(arguments: [
        ["create", "Trips", "--reader", "ada"], ["create", "Trips", "--public", "all"],
        ["create", "Trips", "--public", "readOnly", "--writer", "ada@example.org"], ["create"],
        ["set", "Trips"], ["add", "Trips"], ["remove", "Trips"], ["remove", "Trips", "ada"],
        ["leave", "Trips"], ["accept"], ["metadata"], ["stop"],
        ["list", "--operator-token-file", "t"], ["list", "--user", "ada", "--token", "t"],
        ["list", "--user", "ada", "--database", "shared"],
        ["stop", "Trips", "--user", "ada", "--replicas", "1"],
    ])
    func whatIsMissingOrWrongIsRefused(words: [String]) {
        #expect(throws: (any Error).self) { try Main.parseAsRoot(["share"] + words) }
    }

    /// An operator names the user, and the environment like a user.
    @Test func anOperatorAsksAboutAUser() throws {
        let words = ["--user", "ada", "--container", "iCloud.notes", "--environment", "production"]
        let list = try #require(
            try Main.parseAsRoot(["share", "list"] + words) as? ShareCommand.List
        )
        #expect(list.others.user == "ada")
        #expect(list.connection.user.scope.containerName == "iCloud.notes")
        let stop = try #require(
            try Main.parseAsRoot(["share", "stop", "Trips", "--root", "oslo"] + words)
                as? ShareCommand.Stop
        )
        #expect(stop.others.user == "ada" && stop.target.root == "oslo")
    }

    @Test(arguments: ["https://example.org/share/AAAAAAAAAAAAAAAAAAAAAA", "cumulus:/share/A"])
    func aURLIsTakenAsItIs(text: String) throws {
        let accept = try parse("accept", text, as: ShareCommand.Accept.self)
        #expect(try accept.url.value().absoluteString == text)
    }

    @Test func permissionsAreThoseOfApps() throws {
        for permission in SharePermission.allCases {
            #expect("\(permission.permission)" == permission.rawValue)
        }
    }

    // MARK: What is shown

    @Test func aShareIsShownForPeopleAndPrograms() throws {
        let zone = RecordZone.ID(zoneName: "Trips")
        let id = Record.ID(recordName: "oslo", zoneID: zone)
        let root = Record(recordType: "Note", recordID: id)
        let shareID = Record.ID(recordName: "share", zoneID: zone)
        var share = Share(rootRecord: root, shareID: shareID)
        share.title = "Our trips"
        share.publicPermission = .readOnly
        let ada = UserIdentity.LookupInfo.emailAddress("ada@example.org")
        share.addParticipant(Share.Participant(lookupInfo: ada, permission: .readWrite))
        let person = #"""
            {"handle": "ada@example.org", "role": "privateUser", "permission": "readWrite", \#
            "status": "pending", "isCurrentUser": false}
            """#
        #expect(
            share.json.text == #"""
                {"recordName": "share", "zoneName": "Trips", "root": "oslo", \#
                "title": "Our trips", "publicPermission": "readOnly", \#
                "participants": [\#(person)]}
                """#
        )
        #expect(
            share.rows == [
                ["zone", "Trips"], ["root", "oslo"], ["title", "Our trips"],
                ["public", "readOnly"],
                ["participant", "ada@example.org (privateUser, readWrite, pending)"],
            ]
        )
        #expect(share.row == ["Trips", "", "oslo", "readOnly", "1", "Our trips", ""])
    }
}
