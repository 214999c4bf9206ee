//! Groups: people who play one game after another.

use actix_web::http::header::LOCATION;
use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, delete, get, patch, post};
use serde::Deserialize;
use utoipa::ToSchema;

use super::body::{Body, Empty, Idempotency};
use super::caller::{Caller, Viewer};
use super::games::created;
use super::objects::{Game, Group, Level, Variant};
use super::problem::Failure;
use crate::ids::{GroupId, MemberId};
use crate::options::Asked;
use crate::service::{self, Service};
use crate::store::{GroupRow, GroupSettings};

/// A group to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"variant": "kalah", "options": {"pits": 6, "stones": 4}, "private": false}))]
pub struct NewGroup {
    /// What it plays.
    pub variant: Variant,
    /// Local rules; each game takes those that apply to its number of players.
    #[serde(default)]
    #[schema(required = false)]
    pub options: Asked,
    /// Whether only members see the group and its games. Default false.
    #[serde(default)]
    #[schema(required = false)]
    pub private: bool,
}

/// What of a group is to change from the next game on; absent fields stay as they are.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"options": {"stones": 3}}))]
pub struct GroupUpdate {
    /// What it plays.
    pub variant: Option<Variant>,
    /// All local rules anew: those left out go back to their defaults.
    pub options: Option<Asked>,
    /// Whether only members see the group and its games.
    pub private: Option<bool>,
}

/// The code of a group.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"code": "KTRWMHNP"}))]
pub struct JoinRequest {
    /// Eight letters, upper or lower case.
    #[schema(max_length = 64)]
    pub code: String,
}

/// A computer player to be added.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"level": "easy"}))]
pub struct NewComputer {
    /// How well it plays.
    pub level: Level,
}

fn answered(group: &GroupRow) -> HttpResponse {
    HttpResponse::Ok().json(Group::from(group))
}

/// Make a group
///
/// The caller is its host. Others join by its code.
#[utoipa::path(tag = "groups", security(("bearer" = []), ("personal_token" = ["groups"])), request_body = NewGroup,
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 128, pattern = "^[!-~]([ -~]*[!-~])?$",
            description = "Repeating the request with the same key within a day creates nothing twice.")),
    responses((status = 201, description = "The new group.", body = Group,
        headers(("Location" = String, description = "Where to read it.")))))]
#[post("/groups")]
pub async fn create_group(
    service: Data<Service>,
    caller: Caller,
    key: Idempotency,
    body: Body<NewGroup>,
) -> Result<HttpResponse, Failure> {
    let NewGroup { variant, options, private } = body.value;
    let new = GroupSettings { variant: variant.into(), options, private };
    let group = service.create_group(caller.player(), new, key.with(&body.raw).as_ref()).await?;
    Ok(HttpResponse::Created()
        .insert_header((LOCATION, format!("/v1/groups/{}", group.id)))
        .json(Group::from(&group)))
}

/// Join a group
///
/// By its code. Joining twice is safe.
#[utoipa::path(tag = "groups", security(("bearer" = []), ("personal_token" = ["groups"])), request_body = JoinRequest,
    responses((status = 200, description = "The group, with the caller in it.", body = Group)))]
#[post("/groups/join")]
pub async fn join_group(
    service: Data<Service>,
    caller: Caller,
    body: Body<JoinRequest>,
) -> Result<HttpResponse, Failure> {
    Ok(answered(&service.join_group(caller.player(), &body.value.code).await?))
}

/// Read a group
///
/// Its members, its local rules and its running or last game.
#[utoipa::path(tag = "groups", security((), ("bearer" = []), ("personal_token" = ["groups"])),
    params(("id" = GroupId, Path, description = "The group.")),
    responses((status = 200, description = "The group.", body = Group)))]
#[get("/groups/{id}")]
pub async fn get_group(
    service: Data<Service>,
    viewer: Viewer,
    id: Path<GroupId>,
) -> Result<HttpResponse, Failure> {
    Ok(answered(&service.group(viewer.player(), *id).await?))
}

/// Change a group
///
/// For the host. Changes hold from the next game on; `options` replaces all local rules.
#[utoipa::path(tag = "groups", security(("bearer" = []), ("personal_token" = ["groups"])), request_body = GroupUpdate,
    params(("id" = GroupId, Path, description = "The group.")),
    responses((status = 200, description = "The group.", body = Group)))]
#[patch("/groups/{id}")]
pub async fn update_group(
    service: Data<Service>,
    caller: Caller,
    id: Path<GroupId>,
    body: Body<GroupUpdate>,
) -> Result<HttpResponse, Failure> {
    let GroupUpdate { variant, options, private } = body.value;
    let change = service::GroupChange { variant: variant.map(Into::into), options, private };
    Ok(answered(&service.change_group(caller.player(), *id, change).await?))
}

/// Leave a group
///
/// The next person in the order of joining becomes the host if the host leaves. A seat in a running game stays the
/// caller's.
#[utoipa::path(tag = "groups", security(("bearer" = []), ("personal_token" = ["groups"])),
    params(("id" = GroupId, Path, description = "The group.")),
    responses((status = 204, description = "The caller is no member any more.")))]
#[delete("/groups/{id}/members/me")]
pub async fn leave_group(
    service: Data<Service>,
    caller: Caller,
    id: Path<GroupId>,
) -> Result<HttpResponse, Failure> {
    service.leave_group(caller.player(), *id).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Add a computer player
///
/// For the host, between games.
#[utoipa::path(tag = "groups", security(("bearer" = []), ("personal_token" = ["groups"])), request_body = NewComputer,
    params(("id" = GroupId, Path, description = "The group.")),
    responses((status = 200, description = "The group.", body = Group)))]
#[post("/groups/{id}/computers")]
pub async fn add_group_computer(
    service: Data<Service>,
    caller: Caller,
    id: Path<GroupId>,
    body: Body<NewComputer>,
) -> Result<HttpResponse, Failure> {
    let level = body.value.level.into();
    Ok(answered(&service.add_computer(caller.player(), *id, level).await?))
}

/// Remove a computer player
///
/// For the host, between games.
#[utoipa::path(tag = "groups", security(("bearer" = []), ("personal_token" = ["groups"])),
    params(("id" = GroupId, Path, description = "The group."), ("member_id" = MemberId, Path, description = "The computer's place.")),
    responses((status = 200, description = "The group.", body = Group)))]
#[delete("/groups/{id}/computers/{member_id}")]
pub async fn remove_group_computer(
    service: Data<Service>,
    caller: Caller,
    path: Path<(GroupId, MemberId)>,
) -> Result<HttpResponse, Failure> {
    let (id, member) = path.into_inner();
    Ok(answered(&service.remove_computer(caller.player(), id, member).await?))
}

/// Start the group's next game
///
/// For the host. The members, two to four, are its players, seated in the order in which they joined. Who begins goes
/// round from game to game.
#[utoipa::path(tag = "groups", security(("bearer" = []), ("personal_token" = ["groups"])), request_body = Empty,
    params(("id" = GroupId, Path, description = "The group."),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 128, pattern = "^[!-~]([ -~]*[!-~])?$",
            description = "Repeating the request with the same key within a day creates nothing twice.")),
    responses((status = 201, description = "The new game.", body = Game,
        headers(("Location" = String, description = "Where to read it."), ("ETag" = String, description = "W/\"seq\"")))))]
#[post("/groups/{id}/games")]
pub async fn create_group_game(
    service: Data<Service>,
    caller: Caller,
    id: Path<GroupId>,
    key: Idempotency,
    body: Body<Empty>,
) -> Result<HttpResponse, Failure> {
    let key = key.with(&body.raw);
    Ok(created(&service.start_group_game(caller.player(), *id, key.as_ref()).await?))
}
