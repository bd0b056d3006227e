// Every message that one of our types holds, by its name in proto/: read, and written again.

import CumulusModel
import CumulusRequests
import CumulusWire

enum WireMessages {
    /// Reads a message and writes it again; throws if it can't be read.
    typealias Recode = @Sendable (Bytes) throws -> Bytes

    /// By the tolerant reader.
    static let all: [String: Recode] = requests.mapValues(\.byUs).merging(answers) { $1 }

    // MARK: Requests of callers

    struct Request: Sendable {
        /// As a node reads it: by libprotobuf-c.
        let byTheLibrary: Recode
        /// By the tolerant reader.
        let byUs: Recode

        init<Message: Coded>(_ read: @escaping @Sendable (Bytes) throws -> Message) {
            byTheLibrary = { try read($0).encoded() }
            byUs = { try Message(tolerant: $0, growth: 16).encoded() }
        }
    }

    static let requests: [String: Request] = [
        "Hello": Request { try Hello(wire: $0) },
        "CallHeader": Request { bytes in
            var payload = CanonicalWriter()
            payload.delimited(bytes)
            payload.raw([7, 7])
            let (header, message) = try CallHeader.split(payload.bytes)
            precondition(message == [7, 7])
            return header
        },
        "FetchRecordsRequest": Request { try FetchRecordsRequest(wire: $0) },
        "ModifyRecordsRequest": Request { try NodeModifyRecordsRequest(wire: $0) },
        "ListRecordsRequest": Request { try ListRecordsRequest(wire: $0) },
        "QueryRecordsRequest": Request { try QueryRecordsRequest(wire: $0) },
        "ListZonesRequest": Request { try ListZonesRequest(wire: $0) },
        "FetchZonesRequest": Request { try FetchZonesRequest(wire: $0) },
        "ModifyZonesRequest": Request { try ModifyZonesRequest(wire: $0) },
        "FetchDatabaseChangesRequest": Request { try FetchDatabaseChangesRequest(wire: $0) },
        "FetchZoneChangesRequest": Request { try FetchZoneChangesRequest(wire: $0) },
        "PrepareAssetsRequest": Request { try PrepareAssetsRequest(wire: $0) },
        "UploadChunksRequest": Request { try UploadChunksRequest(wire: $0) },
        "DownloadAssetRequest": Request { try DownloadAssetRequest(wire: $0) },
        "FetchSubscriptionsRequest": Request { try FetchSubscriptionsRequest(wire: $0) },
        "ModifySubscriptionsRequest": Request { try ModifySubscriptionsRequest(wire: $0) },
        "ListUserSubscriptionsRequest": Request { try ListUserSubscriptionsRequest(wire: $0) },
        "EndSubscriptionsRequest": Request { try EndSubscriptionsRequest(wire: $0) },
        "RegisterPushRequest": Request { try RegisterPushRequest(wire: $0) },
        "ListPushesRequest": Request { try ListPushesRequest(wire: $0) },
        "EndPushesRequest": Request { try EndPushesRequest(wire: $0) },
        "FollowFeedRequest": Request { try FollowFeedRequest(wire: $0) },
        "MarkReadRequest": Request { try MarkReadRequest(wire: $0) },
        "ShareMetadataRequest": Request { try ShareMetadataRequest(wire: $0) },
        "AcceptShareRequest": Request { try AcceptShareRequest(wire: $0) },
        "LookUpParticipantsRequest": Request { try LookUpParticipantsRequest(wire: $0) },
        "ListSharesRequest": Request { try ListSharesRequest(wire: $0) },
        "StopShareRequest": Request { try StopShareRequest(wire: $0) },
        "SignInRequest": Request { try SignInRequest(wire: $0) },
        "RegisterRequest": Request { try SignInRequest(wire: $0) },
        "SessionsRequest": Request { try SessionsRequest(wire: $0) },
        "RevokeSessionsRequest": Request { try RevokeSessionsRequest(wire: $0) },
        "ChangePasswordRequest": Request { try ChangePasswordRequest(wire: $0) },
        "SetUserStateRequest": Request { try SetUserStateRequest(wire: $0) },
        "AddOperatorRequest": Request { try AddOperatorRequest(wire: $0) },
        "RemoveOperatorRequest": Request { try RemoveOperatorRequest(wire: $0) },
        "DeleteUserRequest": Request { try DeleteUserRequest(wire: $0) },
        "DeleteContainerRequest": Request { try DeleteContainerRequest(wire: $0) },
        "SetPasswordRequest": Request { try SetPasswordRequest(wire: $0) },
        "ProfileRequest": Request { try ProfileRequest(wire: $0) },
        "SetProfileRequest": Request { try SetProfileRequest(wire: $0) },
        "DiscoverRequest": Request { try DiscoverRequest(wire: $0) },
        "SetHandleRequest": Request { try SetHandleRequest(wire: $0) },
        "AddKeyRequest": Request { try AddKeyRequest(wire: $0) },
        "RevokeKeyRequest": Request { try RevokeKeyRequest(wire: $0) },
        "MakeResetLinkRequest": Request { try MakeResetLinkRequest(wire: $0) },
        "ResetPasswordRequest": Request { try ResetPasswordRequest(wire: $0) },
        "SetWebAppRequest": Request { try SetWebAppRequest(wire: $0) },
        "RemoveWebAppRequest": Request { try RemoveWebAppRequest(wire: $0) },
        "ImportSchemaRequest": Request { try ImportSchemaRequest(wire: $0) },
        "DeploySchemaRequest": Request { try DeploySchemaRequest(wire: $0) },
        "ResetSchemaRequest": Request { try ResetSchemaRequest(wire: $0) },
        "SetMergePolicyRequest": Request { try SetMergePolicyRequest(wire: $0) },
        "SetRoleRequest": Request { try SetRoleRequest(wire: $0) },
        "ListRolesRequest": Request { try ListRolesRequest(wire: $0) },
        "IndexesRequest": Request { try IndexesRequest(wire: $0) },
        "CreateContainerRequest": Request { try CreateContainerRequest(wire: $0) },
        "ListUsersRequest": Request { try ListUsersRequest(wire: $0) },
        "AddUserRequest": Request { try AddUserRequest(wire: $0) },
        "AddTokenRequest": Request { try AddTokenRequest(wire: $0) },
        "RemoveMemberRequest": Request { try RemoveMemberRequest(wire: $0) },
        "BackUpRequest": Request { try BackUpRequest(wire: $0) },
        "TruncateRequest": Request { try TruncateRequest(wire: $0) },
        "VerifyRequest": Request { try VerifyRequest(wire: $0) },
        "RescueRequest": Request { try RescueRequest(wire: $0) },
    ]

    // MARK: Answers, and what nodes send each other

    private static func answer<Message: WireMessage>(_ type: Message.Type) -> Recode {
        { try Message(wire: $0).encoded() }
    }

    static let answers: [String: Recode] = [
        "ServerHello": answer(ServerHello.self),
        "Drain": answer(DrainNotice.self),
        "Status": answer(WireStatus.self),
        "Record": answer(WireRecord.self),
        "Field": { try WireRecordField(tolerant: $0, growth: 128).encoded() },
        "FetchRecordsResponse": answer(FetchRecordsResponse.self),
        "ModifyRecordsResponse": answer(ModifyRecordsResponse.self),
        "ListRecordsResponse": answer(ListRecordsResponse.self),
        "ListConflictsResponse": answer(ListConflictsResponse.self),
        "QueryRecordsResponse": answer(QueryRecordsResponse.self),
        "ListZonesResponse": answer(ListZonesResponse.self),
        "FetchZonesResponse": answer(FetchZonesResponse.self),
        "ModifyZonesResponse": answer(ModifyZonesResponse.self),
        "FetchDatabaseChangesResponse": answer(FetchDatabaseChangesResponse.self),
        "FetchZoneChangesResponse": answer(FetchZoneChangesResponse.self),
        "PrepareAssetsResponse": answer(PrepareAssetsResponse.self),
        "Chunks": answer(WireChunks.self),
        "UploadChunksResponse": answer(UploadChunksResponse.self),
        "DownloadAssetResponse": answer(DownloadAssetResponse.self),
        "FetchSubscriptionsResponse": answer(FetchSubscriptionsResponse.self),
        "ModifySubscriptionsResponse": answer(ModifySubscriptionsResponse.self),
        "ListUserSubscriptionsResponse": answer(ListUserSubscriptionsResponse.self),
        "EndSubscriptionsResponse": answer(EndSubscriptionsResponse.self),
        "RegisterPushResponse": answer(RegisterPushResponse.self),
        "ListPushesResponse": answer(ListPushesResponse.self),
        "EndPushesResponse": answer(EndPushesResponse.self),
        "PushServicesResponse": answer(PushServicesResponse.self),
        "FeedPage": answer(FeedPage.self),
        "ShareMetadataResponse": answer(ShareMetadataResponse.self),
        "AcceptShareResponse": answer(ShareMetadataResponse.self),
        "LookUpParticipantsResponse": answer(LookUpParticipantsResponse.self),
        "ListSharesResponse": answer(ListSharesResponse.self),
        "StopShareResponse": answer(StopShareResponse.self),
        "SignInResponse": answer(OpenedSession.self),
        "RegisterResponse": answer(OpenedSession.self),
        "ChangePasswordResponse": answer(OpenedSession.self),
        "SessionsResponse": answer(SessionsResponse.self),
        "RevokeSessionsResponse": answer(RevokeSessionsResponse.self),
        "SetUserStateResponse": answer(SetUserStateResponse.self),
        "ListOperatorsResponse": answer(ListOperatorsResponse.self),
        "AddOperatorResponse": answer(AddOperatorResponse.self),
        "DeleteUserResponse": answer(DeleteUserResponse.self),
        "DeleteContainerResponse": answer(DeleteContainerResponse.self),
        "ProfileResponse": answer(WireProfile.self),
        "SetProfileResponse": answer(SetProfileResponse.self),
        "DiscoverResponse": answer(DiscoverResponse.self),
        "SetHandleResponse": answer(SetHandleResponse.self),
        "ListKeysResponse": answer(ListKeysResponse.self),
        "AddKeyResponse": answer(AddKeyResponse.self),
        "RevokeKeyResponse": answer(RevokeKeyResponse.self),
        "MakeResetLinkResponse": answer(MakeResetLinkResponse.self),
        "ResetPasswordResponse": answer(ResetPasswordResponse.self),
        "ListWebAppsResponse": answer(ListWebAppsResponse.self),
        "SetWebAppResponse": answer(SetWebAppResponse.self),
        "RemoveWebAppResponse": answer(RemoveWebAppResponse.self),
        "ReadSchemaResponse": answer(ReadSchemaResponse.self),
        "ImportSchemaResponse": answer(ImportSchemaResponse.self),
        "DeploySchemaResponse": answer(DeploySchemaResponse.self),
        "ResetSchemaResponse": answer(ResetSchemaResponse.self),
        "ListMergePoliciesResponse": answer(ListMergePoliciesResponse.self),
        "SetMergePolicyResponse": answer(SetMergePolicyResponse.self),
        "SetRoleResponse": answer(SetRoleResponse.self),
        "ListRolesResponse": answer(ListRolesResponse.self),
        "IndexesResponse": answer(IndexesResponse.self),
        "WhoAmIResponse": answer(WhoAmIResponse.self),
        "NodeStatusResponse": answer(NodeStatus.self),
        "MetricsResponse": answer(MetricsResponse.self),
        "ListContainersResponse": answer(ListContainersResponse.self),
        "CreateContainerResponse": answer(CreateContainerResponse.self),
        "ListUsersResponse": answer(ListUsersResponse.self),
        "AddUserResponse": answer(AddUserResponse.self),
        "AddTokenResponse": answer(AddTokenResponse.self),
        "ListMembersResponse": answer(ListMembersResponse.self),
        "RemoveMemberResponse": answer(RemoveMemberResponse.self),
        "BackUpResponse": answer(BackUpResponse.self),
        "TruncateResponse": answer(TruncateResponse.self),
        "VerifyResponse": answer(WireVerdict.self),
        "ZoneStatusResponse": answer(ZoneStatusResponse.self),
        "RescueResponse": answer(RescueResponse.self),
        "PullRequest": answer(PullRequest.self),
        "PullResponse": answer(PullResponse.self),
        "ReportRequest": answer(ReportRequest.self),
        "StateRequest": answer(StateRequest.self),
        "StateResponse": answer(StateResponse.self),
        "PeerAssetRequest": answer(PeerAssetRequest.self),
        "WantedAssetsResponse": answer(WantedAssetsResponse.self),
    ]
}
