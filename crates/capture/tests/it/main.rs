mod building;
mod connections;
mod disorder;
mod files;
mod properties;
