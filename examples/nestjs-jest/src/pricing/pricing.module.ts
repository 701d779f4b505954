import { Module } from '@nestjs/common'
import { Points } from './points.ts'
import { PricingController } from './pricing.controller.ts'

@Module({ controllers: [PricingController], providers: [Points] })
export class PricingModule {}
