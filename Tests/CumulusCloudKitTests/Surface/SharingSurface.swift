// Each member of shares, participants and metadata, in every form of call.
//
// Compiled, never run: see `DatabaseSurface`.

import CloudKit
import Foundation

private typealias ID = CKRecord.ID
private typealias Failure = any Error
private typealias Results<Key: Hashable, Value> = [Key: Result<Value, any Error>]

enum SharingSurface {
    static func share(_ root: CKRecord, _ zone: CKRecordZone.ID, _ coder: NSCoder) {
        var share = CKShare(rootRecord: root)
        share = CKShare(rootRecord: root, shareID: ID(recordName: "share", zoneID: zone))
        share = CKShare(recordZoneID: zone)
        let _: CKShare? = CKShare(coder: coder)
        let _: CKRecord = share
        share[CKShare.SystemFieldKey.title] = "title"
        share[CKShare.SystemFieldKey.thumbnailImageData] = Data()
        share[CKShare.SystemFieldKey.shareType] = "type"
        let _: URL? = share.url
        let _: CKShare.ParticipantPermission = share.publicPermission
        share.publicPermission = .readOnly
        let owner: CKShare.Participant = share.owner
        let _: CKShare.Participant? = share.currentUserParticipant
        let _: [CKShare.Participant] = share.participants
        share.addParticipant(owner)
        share.removeParticipant(owner)
        let _: URL? = share.oneTimeURL(for: owner.participantID)
        share.allowsAccessRequests = false
        let _: Bool = share.allowsAccessRequests
        for requester: CKShare.AccessRequester in share.requesters {
            let _: CKUserIdentity = requester.userIdentity
            let _: CKUserIdentity.LookupInfo = requester.participantLookupInfo
            share.denyRequesters([requester])
        }
        share.blockRequesters(share.requesters)
        let _: [CKUserIdentity] = share.blockedIdentities.map(\.userIdentity)
        let blocked: [CKShare.BlockedIdentity] = share.blockedIdentities
        share.unblockIdentities(blocked)
        let _: [any NSSecureCoding & NSCopying & Sendable] = share.requesters + blocked
        let _: CKRecord.Reference? = root.share
        let _: [CKRecord.RecordType] = [CKRecord.SystemType.share, CKRecordTypeShare]
        let _: [String] = [
            CKShareTitleKey, CKShareThumbnailImageDataKey, CKShareTypeKey,
            CKRecordNameZoneWideShare,
        ]
    }

    static func participant(_ participant: CKShare.Participant) {
        let _: CKUserIdentity = participant.userIdentity
        participant.role = .administrator
        participant.permission = .readWrite
        let _: CKShare.ParticipantRole = participant.role
        let _: CKShare.ParticipantPermission = participant.permission
        let _: CKShare.ParticipantAcceptanceStatus = participant.acceptanceStatus
        let _: CKShare.Participant.ID = participant.participantID
        let _: (Bool, Date?) = (participant.isApprovedRequester, participant.dateAddedToShare)
        participant.type = .privateUser
        let _: CKShare.Participant = .oneTimeURLParticipant()
        switch participant.acceptanceStatus {
        case .unknown, .pending, .accepted, .removed: break
        }
        switch participant.permission {
        case .unknown, .none, .readOnly, .readWrite: break
        }
        switch participant.role {
        case .unknown, .owner, .administrator, .privateUser, .publicUser: break
        }
        let _: CKSharingParticipantAccessOption = [
            .anyoneWithLink, .specifiedRecipientsOnly, .any,
        ]
        let _: CKSharingParticipantPermissionOption = [.readOnly, .readWrite, .any]
        let _: [CKShareParticipant] = [participant as CKShare.Participant]
        let _: CKShareParticipantType = participant.type
        let _: CKShareParticipantRole = participant.role
        let _: CKShareParticipantPermission = participant.permission
        let _: CKShareParticipantAcceptanceStatus = participant.acceptanceStatus
    }

    static func metadata(_ metadata: CKShare.Metadata) {
        let _: (String, CKShare) = (metadata.containerIdentifier, metadata.share)
        let _: (ID?, CKRecord?) = (metadata.hierarchicalRootRecordID, metadata.rootRecord)
        let _: CKUserIdentity = metadata.ownerIdentity
        let _: CKShare.ParticipantRole = metadata.participantRole
        let _: CKShare.ParticipantAcceptanceStatus = metadata.participantStatus
        let _: CKShare.ParticipantPermission = metadata.participantPermission
        let _: (ID, CKShare.ParticipantType) = (metadata.rootRecordID, metadata.participantType)
        let _: CKShareMetadata = metadata
    }

    static func container(
        _ container: CKContainer,
        _ url: URL,
        _ metadata: CKShare.Metadata
    ) async throws {
        let _: CKShare.Metadata = try await container.shareMetadata(for: url)
        let _: Results<URL, CKShare.Metadata> = try await container.shareMetadatas(for: [url])
        let _: CKShare = try await container.accept(metadata)
        try await container.accept(metadata)
        let _: Results<CKShare.Metadata, CKShare> = try await container.accept([metadata])
        let _: CKShare.Participant = try await container.shareParticipant(
            forEmailAddress: "a@b.c"
        )
        let _: CKShare.Participant = try await container.shareParticipant(forPhoneNumber: "1")
        let _: CKShare.Participant = try await container.shareParticipant(forUserRecordID: ID())
        let _: Results<String, CKShare.Participant> = try await container.shareParticipants(
            forEmailAddresses: ["a@b.c"]
        )
        let _: Results<String, CKShare.Participant> = try await container.shareParticipants(
            forPhoneNumbers: ["1"]
        )
        let _: Results<ID, CKShare.Participant> = try await container.shareParticipants(
            forUserRecordIDs: [ID()]
        )
        let _: Results<CKUserIdentity.LookupInfo, CKShare.Participant> =
            try await container.shareParticipants(for: [.init(emailAddress: "a@b.c")])
        let _: Results<URL, Void> = try await container.requestShareAccess(for: [url])
        // Their results may be ignored, like the results of all calls that come from Objective-C.
        try await container.shareMetadata(for: url)
        try await container.shareParticipant(forEmailAddress: "a@b.c")
        try await container.shareParticipant(forPhoneNumber: "1")
        try await container.shareParticipant(forUserRecordID: ID())
    }

    @available(*, deprecated)
    static func oldNames(_ participant: CKShare.Participant) {
        let _: CKShare.Participant.AcceptanceStatus = participant.acceptanceStatus
        let _: CKShare.Participant.Permission = participant.permission
        let _: CKShare.Participant.Role = participant.role
        let _: CKShare.Participant.ParticipantType = participant.type
        let _: CKShare_Participant_AcceptanceStatus = participant.acceptanceStatus
        let _: CKShare_Participant_Permission = participant.permission
        let _: CKShare_Participant_Role = participant.role
        let _: CKShare_Participant_ParticipantType = participant.type
    }

    static func handlers(_ container: CKContainer, _ url: URL, _ metadata: CKShare.Metadata) {
        container.fetchShareMetadata(with: url) { (_: CKShare.Metadata?, _: Failure?) in }
        container.fetchShareMetadatas(for: [url]) {
            (_: Result<Results<URL, CKShare.Metadata>, Failure>) in
        }
        container.accept(metadata) { (_: CKShare?, _: Failure?) in }
        container.accept([metadata]) {
            (_: Result<Results<CKShare.Metadata, CKShare>, Failure>) in
        }
        container.fetchShareParticipant(withEmailAddress: "a@b.c") {
            (_: CKShare.Participant?, _: Failure?) in
        }
        container.fetchShareParticipant(withPhoneNumber: "1") { (_: CKShare.Participant?, _) in }
        container.fetchShareParticipant(withUserRecordID: ID()) { (_: CKShare.Participant?, _) in }
        container.fetchShareParticipants(forEmailAddresses: ["a@b.c"]) {
            (_: Result<Results<String, CKShare.Participant>, Failure>) in
        }
        container.fetchShareParticipants(forPhoneNumbers: ["1"]) {
            (_: Result<Results<String, CKShare.Participant>, Failure>) in
        }
        container.fetchShareParticipants(forUserRecordIDs: [ID()]) {
            (_: Result<Results<ID, CKShare.Participant>, Failure>) in
        }
    }

    static func operations(_ url: URL, _ metadata: CKShare.Metadata) {
        let fetch = CKFetchShareMetadataOperation(shareURLs: [url])
        fetch.shareURLs = [url]
        fetch.shouldFetchRootRecord = true
        fetch.rootRecordDesiredKeys = ["title"]
        fetch.perShareMetadataResultBlock = { (_: URL, _: Result<CKShare.Metadata, Failure>) in }
        fetch.fetchShareMetadataResultBlock = { (_: Result<Void, Failure>) in }
        fetch.perShareMetadataBlock = { (_: URL, _: CKShare.Metadata?, _: Failure?) in }
        fetch.fetchShareMetadataCompletionBlock = { (_: Failure?) in }

        let accept = CKAcceptSharesOperation(shareMetadatas: [metadata])
        accept.shareMetadatas = [metadata]
        accept.perShareResultBlock = { (_: CKShare.Metadata, _: Result<CKShare, Failure>) in }
        accept.acceptSharesResultBlock = { (_: Result<Void, Failure>) in }
        accept.perShareCompletionBlock = { (_: CKShare.Metadata, _: CKShare?, _: Failure?) in }
        accept.acceptSharesCompletionBlock = { (_: Failure?) in }

        let people = CKFetchShareParticipantsOperation(userIdentityLookupInfos: [])
        people.userIdentityLookupInfos = [CKUserIdentity.LookupInfo(emailAddress: "a@b.c")]
        people.perShareParticipantResultBlock = {
            (_: CKUserIdentity.LookupInfo, _: Result<CKShare.Participant, Failure>) in
        }
        people.fetchShareParticipantsResultBlock = { (_: Result<Void, Failure>) in }
        people.shareParticipantFetchedBlock = { (_: CKShare.Participant) in }
        people.fetchShareParticipantsCompletionBlock = { (_: Failure?) in }

        let ask = CKShareRequestAccessOperation(shareURLs: [url])
        ask.shareURLs = [url]
        ask.perShareAccessRequestResultBlock = { (_: URL, _: Result<Void, Failure>) in }
        ask.shareAccessRequestResultBlock = { (_: Result<Void, Failure>) in }
        let _: [CKOperation] = [
            fetch, accept, people, ask, CKFetchShareMetadataOperation(), CKAcceptSharesOperation(),
            CKFetchShareParticipantsOperation(), CKShareRequestAccessOperation(),
        ]
    }
}
